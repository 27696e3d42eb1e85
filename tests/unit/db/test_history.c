// SPDX-License-Identifier: Apache-2.0
// History files: what goes out comes back whole in another store, the same rows give the same bytes,
// importing again adds nothing and touches nothing, and a file that is damaged, cut off, newer or made up
// is refused with a clear message and nothing imported.
#include "fixture.h"

#include "db/history_internal.h"
#include "tuner/base/json.h"

#include <sys/stat.h>

#include <zlib.h>

// A store with two sessions: winners, a tie, a failure with a log that is not UTF-8, odd numbers.
static void fill(st_store *store, char ids[2][ST_HASH_TEXT])
{
    st_error error = {0};
    for (int i = 0; i < 2; i++) {
        st_session_row session;
        int64_t problem, fast, slow, configuration;
        assert_ok(add_session(store, "reduce", i ? "GPU-2" : "GPU-1", "580", &session, &error),
                  error);
        assert_ok(add_candidate(store, &session, 1024, "BLOCK=256 VEC=4", 1234.567 + i, &problem,
                                &fast, &error),
                  error);
        assert_ok(
            add_candidate(store, &session, 1024, "BLOCK=128 VEC=1", 0.1, &problem, &slow, &error),
            error);
        const double samples[] = {1.0 / 3, 1e-7, 123456789.125, NAN, -0.0, 1e300};
        st_measurement_row m = some_measurement(fast, "finals", 3, "warm", samples, 6);
        m.median_ns = NAN;
        m.throttle_reasons = -1;
        m.tick_ns = 31.25;
        assert_ok(st_store_measurement(store, &m, &error), error);
        st_winner_row winner = some_winner(session.key, problem, fast, 1234.567);
        winner.default_key = i ? -1 : slow;
        winner.default_ns = i ? NAN : 0.1;
        winner.ties_json = (char *)"[{\"candidate\":\"00\",\"ratio\":1.001}]";
        winner.note = (char *)"fewest registers";
        winner.tied = 2;
        assert_ok(st_store_winner(store, &winner, &error), error);
        assert_ok(
            st_store_configuration(store, "reduce", "BLOCK=64 VEC=\"x\"", &configuration, &error),
            error);
        st_candidate_row failed = blank_candidate(session.key, problem, configuration, "compile");
        failed.detail = (char *)"line 1\n\ttab \"quoted\" \\ \xc3\xa9 cut: \xc3";
        assert_ok(st_store_candidate(store, &failed, &error), error);
        assert_ok(st_store_session_end(store, session.key, ST_SESSION_FINISHED,
                                       "{\"seconds\":{\"time\":1.5}}", &error),
                  error);
        memcpy(ids[i], session.id, ST_HASH_TEXT);
    }
}

static st_text read_all(const char *path)
{
    st_error error = {0};
    st_text text;
    st_text_init(&text);
    assert_ok(st_text_read_file(&text, path, &error), error);
    return text;
}

static bool same_files(const char *a, const char *b)
{
    st_text first = read_all(a), second = read_all(b);
    bool same = first.length == second.length && memcmp(first.data, second.data, first.length) == 0;
    st_text_release(&first);
    st_text_release(&second);
    return same;
}

// The decompressed text of a history file.
static st_text unzip(const char *path)
{
    st_text text;
    char block[4096];
    int got;
    st_text_init(&text);
    gzFile file = gzopen(path, "rb");
    assert_non_null(file);
    while ((got = gzread(file, block, sizeof block)) > 0)
        st_text_add_bytes(&text, block, (size_t)got);
    assert_int_equal(got, 0);
    gzclose(file);
    return text;
}

static void zip(const char *path, const char *text)
{
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

// Everything that a store says, as one text, without local keys.
static st_text contents(st_store *store)
{
    static const char *const questions[] = {
        "SELECT hex(json_array(uuid, name, backend, pci, cc, sm_count, memory_bytes, l2_bytes, "
        "facts,"
        " read_gbs, copy_gbs)) FROM device ORDER BY 1",
        "SELECT json_array(session_id, resume_key, family, status, command, options, summary, "
        "driver,"
        " driver_cuda, compiler, tool, template_hash, device_uuid, started_ms, finished_ms)"
        " FROM simtune_sessions ORDER BY 1",
        "SELECT json_array(candidate_id, problem, configuration, type, operation, n, outcome, "
        "registers,"
        " local_bytes, occupancy, deterministic, session_id) FROM simtune_candidates ORDER BY 1",
        "SELECT json_array(candidate_id, phase, round, cache, median_ns, hex(samples), "
        "sm_clock_mhz,"
        " memory_clock_mhz, temperature_c, power_mw, throttle_reasons, dropped, batch, tick_ns, "
        "taken_ms)"
        " FROM simtune_measurements ORDER BY 1",
        "SELECT json_array(candidate_id, kind, name, value, seconds) FROM simtune_counters ORDER "
        "BY 1",
        "SELECT json_array(candidate_id, lines) FROM stall_lines JOIN candidate USING "
        "(candidate_key)"
        " ORDER BY 1",
        "SELECT json_array(candidate_id, cache, median_ns, default_ns, speedup, speedup_low, "
        "speedup_high,"
        " tied, ties, bytes, note, is_default) FROM simtune_winners ORDER BY 1",
        "SELECT json_array(hash, family, texts) FROM template ORDER BY 1",
    };
    st_text text;
    st_text_init(&text);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        sqlite3_stmt *statement;
        int rows = 0;
        assert_int_equal(sqlite3_prepare_v2(store->db, questions[i], -1, &statement, NULL),
                         SQLITE_OK);
        for (; sqlite3_step(statement) == SQLITE_ROW; rows++)
            st_text_addf(&text, "%s\n", (const char *)sqlite3_column_text(statement, 0));
        assert_true(rows > 0);
        sqlite3_finalize(statement);
    }
    return text;
}

static void a_store_comes_back_whole_in_another(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    size_t added = 0;
    st_store *from = open_store(":memory:", ST_STORE_WRITE),
             *to = open_store(":memory:", ST_STORE_WRITE);
    fill(from, ids);
    int64_t key; // other local keys there
    assert_ok(st_store_problem(to, "scan", "n=1", NULL, NULL, 1, &key, &error), error);
    const char *const chosen[] = {ids[1], ids[0], ids[1], NULL}; // any order, twice is once
    assert_ok(st_history_export(from, chosen, in_folder("all.gz"), &error), error);
    assert_ok(st_history_import(to, in_folder("all.gz"), true, &added, &error), error);
    // 2 devices, toolchain, template, problem, 2 sessions, 6 candidates, 2 winners
    assert_int_equal(added, 15);
    st_text one = contents(from), two = contents(to);
    assert_string_equal(one.data, two.data);
    assert_sound(to);
    assert_int_equal(number(to, "SELECT min(shipped) FROM session"), 1);
    assert_int_equal(number(from, "SELECT max(shipped) FROM session"), 0);

    // Again: nothing. From the copy: the same bytes.
    assert_ok(st_history_import(to, in_folder("all.gz"), false, &added, &error), error);
    assert_int_equal(added, 0);
    assert_int_equal(number(to, "SELECT min(shipped) FROM session"), 1);
    st_text three = contents(to);
    assert_string_equal(two.data, three.data);
    assert_ok(st_history_export(to, chosen, in_folder("again.gz"), &error), error);
    assert_true(same_files(in_folder("all.gz"), in_folder("again.gz")));
    assert_ok(st_history_export(from, NULL, in_folder("every.gz"), &error),
              error); // NULL: every session
    assert_true(same_files(in_folder("all.gz"), in_folder("every.gz")));
    st_text_release(&one);
    st_text_release(&two);
    st_text_release(&three);
    st_store_close(from);
    st_store_close(to);
}

static void the_order_in_which_rows_came_does_not_show(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    st_store *from = open_store(":memory:", ST_STORE_WRITE);
    st_store *to = open_store(":memory:", ST_STORE_WRITE);
    fill(from, ids);
    assert_ok(st_history_export(from, NULL, in_folder("both.gz"), &error), error);
    for (int i = 1; i >= 0; i--) { // the later session first
        const char *const one[] = {ids[i], NULL};
        assert_ok(st_history_export(from, one, in_folder("one.gz"), &error), error);
        assert_ok(st_history_import(to, in_folder("one.gz"), false, NULL, &error), error);
    }
    assert_ok(st_history_export(to, NULL, in_folder("turned.gz"), &error), error);
    assert_true(same_files(in_folder("both.gz"), in_folder("turned.gz")));
    st_store_close(from);
    st_store_close(to);
}

static void shipped_sessions_are_never_resumed(void **state)
{
    (void)state;
    st_error error = {0};
    st_session_row session, found;
    st_store *from = open_store(":memory:", ST_STORE_WRITE),
             *to = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(add_session(from, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(st_history_export(from, NULL, in_folder("running.gz"), &error), error);
    assert_ok(st_history_import(to, in_folder("running.gz"), true, NULL, &error), error);
    assert_int_equal(number(to, "SELECT count(*) FROM session WHERE status = 'running'"), 1);
    assert_int_equal(st_store_session_unfinished(to, "key", &found, &error), ST_NOTHING);
    st_store_close(from);
    st_store_close(to);
}

static void own_rows_are_left_alone(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    size_t added;
    st_store *from = open_store(":memory:", ST_STORE_WRITE),
             *to = open_store(":memory:", ST_STORE_WRITE);
    fill(from, ids);
    assert_ok(st_history_export(from, NULL, in_folder("own.gz"), &error), error);
    assert_ok(st_history_import(to, in_folder("own.gz"), false, &added, &error), error);
    sqlite3_exec(to->db,
                 "UPDATE device SET read_gbs = 1; UPDATE winner SET note = 'mine';"
                 "UPDATE candidate SET registers = 77; UPDATE counter SET value = 0.5;"
                 "UPDATE session SET summary = NULL;"
                 "DELETE FROM measurement WHERE phase = 'finals'",
                 NULL, NULL, NULL);
    assert_ok(st_history_import(to, in_folder("own.gz"), true, &added, &error), error);
    assert_int_equal(added, 2); // two candidates had lost a measurement
    assert_int_equal(number(to,
                            "SELECT (SELECT max(read_gbs) FROM device) = 1"
                            " AND (SELECT min(note) FROM winner) = 'mine'"
                            " AND (SELECT min(registers) FROM candidate) = 77"
                            " AND (SELECT min(value) FROM counter) = 0.5"
                            " AND (SELECT max(shipped) FROM session) = 0"
                            " AND (SELECT count(summary) FROM session) = 0"
                            " AND (SELECT count(*) FROM measurement WHERE phase = 'finals') = 2"),
                     1);
    st_store_close(from);
    st_store_close(to);
}

static void the_file_is_readable_and_has_no_date(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    fill(store, ids);
    assert_ok(st_history_export(store, NULL, in_folder("read.gz"), &error), error);
    st_text raw = read_all(in_folder("read.gz")), text = unzip(in_folder("read.gz"));
    const unsigned char *header = (const unsigned char *)raw.data;
    assert_true(header[0] == 0x1f && header[1] == 0x8b);
    assert_int_equal(header[3], 0);                                                    // no name
    assert_true(header[4] == 0 && header[5] == 0 && header[6] == 0 && header[7] == 0); // no date
    assert_true(st_text_starts(text.data, "{\"format\":\"simtune-history\",\"version\":1}\n"));
    assert_non_null(strstr(
        text.data, "\"samples_ns\":[0.3333333333333333,1e-07,123456789.125,null,-0.0,1e+300]"));
    assert_non_null(strstr(
        text.data, "\"problem\":\"T=f32 op=sum n=1024\",\"configuration\":\"BLOCK=256 VEC=4\""));
    assert_non_null(strstr(text.data, "tab \\\"quoted\\\" \\\\ \xc3\xa9 cut: ?")); // not UTF-8: '?'
    assert_non_null(strstr(text.data, "{\"row\":\"end\",\"rows\":15}\n"));
    assert_null(strstr(text.data, "_key\":1")); // no local key
    st_text_release(&raw);
    st_text_release(&text);
    st_store_close(store);
}

static void import_fails(const char *path, const char *message)
{
    st_error error = {0};
    size_t added = 99;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    assert_int_equal(st_history_import(store, path, true, &added, &error), ST_FAILED);
    if (!strstr(error.what, message))
        fail_msg("\"%s\" does not say \"%s\"", error.what, message);
    assert_non_null(strstr(error.what, folder)); // which file
    assert_true(strlen(error.remedy) > 0);
    assert_int_equal(added, 0);
    static const char *const tables[] = {"device",        "toolchain", "template",  "problem",
                                         "configuration", "session",   "candidate", "measurement",
                                         "metric",        "winner"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i]);
        assert_int_equal(number(store, sql), 0);
    }
    assert_int_equal(store->depth, 0);
    st_store_close(store);
}

// The good file with the first `from` replaced by `to`.
static void import_changed_fails(const st_text *good, const char *from, const char *to,
                                 const char *message)
{
    const char *at = strstr(good->data, from);
    if (!at)
        fail_msg("the file has no %s", from);
    st_text changed;
    st_text_init(&changed);
    st_text_add_bytes(&changed, good->data, (size_t)(at - good->data));
    st_text_add(&changed, to);
    st_text_add(&changed, at + strlen(from));
    zip(in_folder("changed.gz"), changed.data);
    st_text_release(&changed);
    import_fails(in_folder("changed.gz"), message);
}

// Prints what was read: its own form, in which a whole number and a real one differ.
static void print_value(const st_reader *reader, const st_value *value, st_text *out)
{
    static const char *const words[] = {"null", "?", "i", "r", "t", "[", "{"};
    st_text_add(out, words[value->kind]);
    if (value->kind == ST_VALUE_BOOL || value->kind == ST_VALUE_INT)
        st_text_addf(out, "%lld", (long long)value->integer);
    if (value->kind == ST_VALUE_REAL)
        st_text_addf(out, "%a", value->real);
    if (value->kind == ST_VALUE_TEXT)
        st_text_add(out, value->text);
    for (const st_value *at = st_value_first(reader, value); at; at = st_value_next(reader, at)) {
        st_text_addf(out, " %s:", at->name ? at->name : "");
        print_value(reader, at, out);
    }
}

static void print_jansson(const json_t *value, st_text *out)
{
    const char *name;
    json_t *member;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        st_text_add(out, "{");
        json_object_foreach((json_t *)(uintptr_t)value, name, member)
        {
            st_text_addf(out, " %s:", name);
            print_jansson(member, out);
        }
        return;
    case JSON_ARRAY:
        st_text_add(out, "[");
        json_array_foreach(value, i, member)
        {
            st_text_add(out, " :");
            print_jansson(member, out);
        }
        return;
    case JSON_STRING: st_text_addf(out, "t%s", json_string_value(value)); return;
    case JSON_INTEGER: st_text_addf(out, "i%lld", (long long)json_integer_value(value)); return;
    case JSON_REAL: st_text_addf(out, "r%a", json_real_value(value)); return;
    case JSON_NULL: st_text_add(out, "null"); return;
    default: st_text_addf(out, "?%d", json_is_true(value)); return;
    }
}

// The reader of lines takes and refuses what jansson does, and reads the same from it.
static void read_as_jansson_does(st_reader *reader, const char *bytes, size_t length)
{
    st_text line, own, others;
    st_error error = {0};
    const st_value *value;
    json_t *tree = NULL;
    st_text_init(&line), st_text_init(&own), st_text_init(&others);
    st_text_add_bytes(&line, bytes, length);
    st_code code = st_reader_read(reader, &line, &value, &error);
    st_code expected = st_json_parse(bytes, length, "line", &tree, NULL);
    if ((code == ST_OK) != (expected == ST_OK))
        fail_msg("\"%s\": %s", bytes, code == ST_OK ? "taken" : error.what);
    if (code == ST_OK) {
        print_value(reader, value, &own);
        print_jansson(tree, &others);
        assert_string_equal(st_text_string(&own), st_text_string(&others));
        char *json = st_value_json(reader, value);
        assert_memory_equal(json, bytes + value->begin, value->end - value->begin);
        st_free(json);
    } else {
        assert_true(strstr(error.what, "not JSON at byte ") && *error.remedy);
    }
    json_decref(tree);
    st_text_release(&line), st_text_release(&own), st_text_release(&others);
}

static void lines_are_read_as_json(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{}", "[]", "{\"a\":1}", " { \"a\" : [ 1 , 2.5 , null , true , false , \"x\" ] , \"b\" : { } }\r", "\"\"", "7", "",
        " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":1}x",
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"b\":1,\"\\u0061\":2}", "[01]", "[1.]", "[.5]", "[+5]", "[-]", "[1e]", "[1e+]",
        "[1e5]", "[1E-5]", "[-0]", "[-0.0]", "[0.0]", "[1e400]", "[-1e400]", "[1e-400]", "[0x10]", "[inf]", "[nullx]",
        "[nul]", "[tru]", "[9223372036854775807]", "[-9223372036854775808]", "[9223372036854775808]",
        "[123456789012345678]", "[-99999999999999999]", "[999999999999999999]", "[1.7976931348623157e308]", "[5e-324]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u00e9\\u20ac\\ud83d\\ude00\"", "\"\\u0000\"", "\"\\ud83d\"", "\"\\ud83dx\"",
        "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\x\"", "\"\\", "\"a", "\"a\tb\"", "\"a\x7f\"",
        "\"\xc3\xa9\xe2\x82\xac\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "\xef\xbb\xbf{}",
    };
    st_reader reader = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        read_as_jansson_does(&reader, lines[i], strlen(lines[i]));
    read_as_jansson_does(&reader, "{}\0", 3);
    read_as_jansson_does(&reader, "[1,\0 2]", 7);
    read_as_jansson_does(&reader, "[\"a\0b\"]", 7);
    for (int same = 0; same < 2; same++) // more names than are compared one by one, and one of them twice
        for (int count = 10; count <= 200; count += 30) {
            st_text line;
            st_text_init(&line);
            for (int i = 0; i < count; i++)
                st_text_addf(&line, "%s\"stall.%d\":%d", i ? "," : "{", i, i);
            st_text_add(&line, same ? ",\"stall.4\":0}" : "}");
            read_as_jansson_does(&reader, line.data, line.length);
            st_text_release(&line);
        }
    st_text deep;
    st_text_init(&deep);
    for (int i = 0; i < 100; i++)
        st_text_add(&deep, "[");
    const st_value *value;
    st_error error = {0};
    assert_int_equal(st_reader_read(&reader, &deep, &value, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "too deep"));
    st_text_release(&deep);
    st_reader_release(&reader);
}

// As strtod reads them: halves between two doubles, powers of two and their neighbours, all lengths.
static void numbers_are_read_exactly(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    char text[64];
    static const char *const odd[] = {"0.1", "0.30000000000000004", "9007199254740992.5", "9007199254740993.0", "900719925474099.25",
                                      "4503599627370496.5", "4503599627370497.5", "0.5", "0.0000000000000000001", "1844674407370955161.5",
                                      "999999999999999999.9", "-12959.999963641167", "-0.0", "1.0e10", "0.000000000000000000000000001"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_true(st_reader_number(odd[i], odd[i] + strlen(odd[i])) == strtod(odd[i], NULL));
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        int places = 1 + (int)(random % 18);
        uint64_t digits = random >> (i % 60), scale = 1;
        for (int k = 0; k < places; k++)
            scale *= 10;
        int length = snprintf(text, sizeof text, "%llu.%0*llu", (unsigned long long)(digits / scale), places,
                              (unsigned long long)(digits % scale));
        if (st_reader_number(text, text + length) != strtod(text, NULL))
            fail_msg("%s: %.17g, not %.17g", text, st_reader_number(text, text + length), strtod(text, NULL));
    }
}

// Baselines and acknowledgements: only with the sessions that they are about, and only then is the file of a version
// that earlier programs refuse.
static void marks_go_with_their_sessions(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT], sql[600];
    size_t added;
    st_store *store = open_store(":memory:", ST_STORE_WRITE), *to = open_store(":memory:", ST_STORE_WRITE);
    fill(store, ids);
    snprintf(sql, sizeof sql,
             "INSERT INTO baseline SELECT session_key, 1790000000000, 'the \"first\"' FROM session WHERE session_id = '%s';"
             "INSERT INTO acknowledgement (acknowledgement_id, baseline_key, session_key, problem_key, cache, reason,"
             " acknowledged_ms) SELECT '0123456789abcdef0123456789abcdef', b.session_key, s.session_key, p.problem_key,"
             " 'cold', 'colder card', 1790000000001 FROM baseline b, session s, problem p WHERE s.session_id = '%s'",
             ids[0], ids[1]);
    assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_ok(st_history_export(store, NULL, in_folder("marks.gz"), &error), error);
    st_text text = unzip(in_folder("marks.gz"));
    assert_true(st_text_starts(text.data, "{\"format\":\"simtune-history\",\"version\":2}\n"));
    st_text_release(&text);
    for (int again = 0; again < 2; again++) {
        assert_ok(st_history_import(to, in_folder("marks.gz"), false, &added, &error), error);
        assert_true(again ? added == 0 : added > 0);
        assert_int_equal(number(to, "SELECT count(*) FROM simtune_baselines WHERE note = 'the \"first\"'"
                                    " AND marked_ms = 1790000000000"), 1);
        assert_int_equal(number(to, "SELECT count(*) FROM simtune_acknowledgements a JOIN simtune_baselines b"
                                    " ON b.session_id = a.baseline_id WHERE reason = 'colder card' AND author IS NULL"
                                    " AND acknowledgement_id = '0123456789abcdef0123456789abcdef' AND cache = 'cold'"), 1);
    }
    assert_ok(st_history_export(to, NULL, in_folder("marks2.gz"), &error), error);
    assert_true(same_files(in_folder("marks.gz"), in_folder("marks2.gz")));
    // The second session alone: the baseline is not there, so the acknowledgement cannot be.
    const char *const one[] = {ids[1], NULL};
    assert_ok(st_history_export(store, one, in_folder("one.gz"), &error), error);
    text = unzip(in_folder("one.gz"));
    assert_true(st_text_starts(text.data, "{\"format\":\"simtune-history\",\"version\":1}\n"));
    assert_null(strstr(text.data, "acknowledgement"));
    st_text_release(&text);
    assert_sound(to);
    st_store_close(store);
    st_store_close(to);
}

static void damaged_files_are_refused_whole(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    fill(store, ids);
    assert_ok(st_history_export(store, NULL, in_folder("good.gz"), &error), error);
    st_store_close(store);
    st_text raw = read_all(in_folder("good.gz")), text = unzip(in_folder("good.gz"));

    // Cut off at many places, compressed and not; a flipped byte.
    for (size_t length = 0; length < raw.length; length += 1 + raw.length / 40) {
        FILE *file = fopen(in_folder("cut.gz"), "wb");
        fwrite(raw.data, 1, length, file);
        fclose(file);
        import_fails(in_folder("cut.gz"), "history file");
    }
    for (size_t length = 0; length < text.length - 1; length += 1 + text.length / 40) {
        FILE *file = fopen(in_folder("cut.jsonl"), "wb");
        fwrite(text.data, 1, length, file);
        fclose(file);
        import_fails(in_folder("cut.jsonl"), "cut.jsonl");
    }
    raw.data[raw.length / 2] ^= 0x10;
    FILE *file = fopen(in_folder("flipped.gz"), "wb");
    fwrite(raw.data, 1, raw.length, file);
    fclose(file);
    import_fails(in_folder("flipped.gz"), "flipped.gz");

    import_fails(in_folder("absent.gz"), "No such file");
    import_fails(folder, "cannot read the history file");
    zip(in_folder("empty.gz"), "");
    import_fails(in_folder("empty.gz"), "cut off after line 0");
    zip(in_folder("text.gz"), "hello\n");
    import_fails(in_folder("text.gz"), "text.gz:1");
    zip(in_folder("list.gz"), "[1]\n");
    import_fails(in_folder("list.gz"), "not a history file");
    import_changed_fails(&text, "simtune-history", "other-history", "not a history file");
    import_changed_fails(&text, "\"version\":1", "\"version\":3",
                         "version 3; this simtune reads versions up to 2");
    import_changed_fails(&text, "\"version\":1", "\"version\":\"1\"", "version");
    import_changed_fails(&text, "\"rows\":15", "\"rows\":14", "has 14 rows, but 15 came");
    import_changed_fails(&text, "\"row\":\"winner\"", "\"row\":\"loser\"",
                         "unknown kind, \"loser\"");
    import_changed_fails(&text, "\"row\":\"winner\"", "\"row\":7", "\"row\" is not a text");
    import_changed_fails(&text, "\"outcome\":\"correct\"", "\"outcome\":\"nice\"",
                         "\"outcome\" is \"nice\"; allowed is one of correct, wrong, race");
    import_changed_fails(&text, "\"outcome\":\"correct\",", "", "\"outcome\" is missing");
    import_changed_fails(&text, "\"registers\":32", "\"registers\":\"many\"",
                         "\"registers\" is not");
    import_changed_fails(&text, "\"registers\":32", "\"registers\":4294967328",
                         "\"registers\" is 4294967328; allowed is");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples_ns\":[{},",
                         "a sample is not a number");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples\":[", "\"samples_ns\" is missing");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples_ns\":0,\"x\":[", "\"samples_ns\" is not");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples\\u005fns\":0,\"x\":[", "\"samples_ns\" is not");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples_ns\":[-0.5,", "a time is negative: -0.5 ns");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples_ns\":[01,", ":");
    import_changed_fails(&text, "\"samples_ns\":[", "\"samples_ns\":[1e999,", ":");
    import_changed_fails(&text, "\"median_ns\":0.1,", "\"median_ns\":-0.1,", "a time is negative: -0.1 ns");
    import_changed_fails(&text, "\"median_ns\":0.1,", "\"median_ns\":5,", "the median 5 ns lies outside its samples");
    import_changed_fails(&text, "\"speedup\":", "\"speedup\":1e308,\"x\":", "a speedup of 1e+308 is out of range");
    import_changed_fails(&text, "\"speedup_low\":", "\"speedup_low\":-1,\"x\":", "a speedup of -1 is out of range");
    import_changed_fails(&text, "\"speedup\":", "\"speedup\":1e8,\"x\":", "the speedup 1e+08 lies outside its interval");
    import_changed_fails(&text, "\"measurements\":[", "\"measurements\":[5,",
                         "not a list of objects");
    import_changed_fails(&text, "\"dram_throughput\":0.93", "\"dram_throughput\":\"x\"",
                         "not a number");
    import_changed_fails(&text, "\"backend\":\"cuda\"", "\"backend\":\"a backend of other stores\"", "too long");
    import_changed_fails(&text, "\"uuid\":\"GPU-1\"", "\"uuid\":\"GPU-9\"", "refers to a device");
    import_changed_fails(&text, "\"problem\":\"T=f32", "\"problem\":\"T=f64",
                         "refers to a problem");
    import_changed_fails(&text, "\"winner\":\"BLOCK=256", "\"winner\":\"BLOCK=512",
                         "is no candidate of its session and problem");
    import_changed_fails(&text, "\"status\":\"finished\"", "\"status\":\"running\"",
                         "\"finished_ms\" is there");
    static const char *const odd[][3] = {
        // What no header can carry.
        {"\"cc\":", "\"cc\":-1,\"x\":", "\"cc\" is -1; allowed is a whole number from 20 to 999"},
        {"\"cc\":", "\"cc\":7,\"x\":", "\"cc\" is 7; allowed"},
        {"\"sm_count\":", "\"sm_count\":0,\"x\":", "\"sm_count\" is 0; allowed"},
        {"\"memory_bytes\":", "\"memory_bytes\":-1,\"x\":", "\"memory_bytes\" is -1; allowed"},
        {"\"uuid\":\"GPU-1\"", "\"uuid\":\"\"", "\"uuid\" is empty"},
        // What `simtune db check` would condemn.
        {"\"finished_ms\":", "\"finished_ms\":1,\"x\":", "\"finished_ms\" is 1, before \"started_ms\""},
        {"\"started_ms\":", "\"started_ms\":-1,\"x\":", "\"started_ms\" is -1; allowed"},
        {"\"status\":\"finished\"", "\"status\":\"odd\"", "\"status\" is \"odd\"; allowed is one of running, "},
        {"\"row\":\"session\",\"id\":\"", "\"row\":\"session\",\"id\":\"X", "\"id\" is \"X"},
        {"\"n\":", "\"n\":-1,\"x\":", "\"n\" is -1; allowed"},
        {"\"phase\":\"finals\"", "\"phase\":\"odd\"", "\"phase\" is \"odd\"; allowed is one of screen, "},
        {"\"cache\":\"warm\"", "\"cache\":\"tepid\"", "\"cache\" is \"tepid\"; allowed is one of cold, warm"},
        {"\"registers\":32", "\"registers\":-5", "\"registers\" is -5; allowed"},
        {"\"registers\":32", "\"occupancy\":7", "\"occupancy\" is 7; allowed is a number from 0 to 1"},
        {"\"configuration\":\"", "\"configuration\":\"\",\"x\":\"", "it is empty"},
        {"\"configuration\":\"", "\"configuration\":\"BLOCK=1 ", "a parameter stands in it twice"},
        {"\"configuration\":\"", "\"configuration\":\"BLOCK ", "not all NAME=VALUE"},
        {"\"configuration\":\"", "\"configuration\":\"A= ", "not all NAME=VALUE"},
        {"\"configuration\":\"", "\"configuration\":\"A=2*/\\n", "control characters"},
        {"\"texts\":{", "\"texts\":{\"../x\":\"y\",", "\"../x\" is no name of a template's file"},
        {"\"texts\":{", "\"texts\":{\"a/..\":\"y\",", "is no name"},
        {"\"texts\":{", "\"texts\":{\"/etc/x\":\"y\",", "is no name"},
        {"\"texts\":{", "\"texts\":{\"x.cu\":1,", "is not a text"},
        {"\"texts\":{", "\"texts\":[],\"x\":{", "\"texts\" is not an object"},
        {"\"tied\":2", "\"tied\":0", "\"tied\" is 0; allowed"},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        import_changed_fails(&text, odd[i][0], odd[i][1], odd[i][2]);
    file = fopen(in_folder("behind.gz"), "wb");
    raw.data[raw.length / 2] ^= 0x10; // as it was
    fwrite(raw.data, 1, raw.length, file);
    fwrite("garbage", 1, 7, file);
    fclose(file);
    import_fails(in_folder("behind.gz"), "something behind its end");
    import_changed_fails(&text, "{\"row\":\"end\"",
                         "{\"row\":\"end\",\"rows\":15}\n{\"row\":\"end\"", "");
    st_text_release(&raw);
    st_text_release(&text);
}

static void exports_that_fail_leave_the_old_file(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    fill(store, ids);
    assert_ok(st_history_export(store, NULL, in_folder("kept.gz"), &error), error);
    const char *const unknown[] = {ids[0], "00000000000000000000000000000000", NULL};
    assert_int_equal(st_history_export(store, unknown, in_folder("kept.gz"), &error), ST_NOTHING);
    assert_non_null(strstr(error.what, "no session 0000"));
    assert_int_equal(st_history_export(store, NULL, in_folder("kept.gz/below.gz"), &error), ST_FAILED);
    assert_non_null(strstr(error.what, "kept.gz"));
    assert_ok(st_history_export(store, NULL, in_folder("made/for/it.gz"), &error), error);
    assert_true(same_files(in_folder("kept.gz"), in_folder("made/for/it.gz")));
    assert_int_equal(st_history_export(store, NULL, "/dev/null", &error), ST_FAILED); // never renamed over
    assert_non_null(strstr(error.what, "/dev/null is not an ordinary file"));
    struct stat status;
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    for (unsigned long n = 1;; n++) { // every system call in turn
        assert_ok(st_text_write_file(in_folder("kept.gz"), "old", 3, NULL, &error), error);
        st_fault_arm(ST_FAULT_SYSTEM, n);
        st_code code = st_history_export(store, NULL, in_folder("kept.gz"), &error);
        bool hit = st_fault_injected(ST_FAULT_SYSTEM);
        st_fault_arm(ST_FAULT_SYSTEM, 0);
        if (!hit) {
            assert_ok(code, error);
            assert_true(n > 3);
            break;
        }
        assert_int_equal(code, ST_FAILED);
        st_text text;
        st_text_init(&text);
        assert_ok(st_text_read_file(&text, in_folder("kept.gz"), &error), error);
        assert_string_equal(st_text_string(&text), "old");
        st_text_release(&text);
    }
    st_store *to = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_history_import(to, in_folder("kept.gz"), true, NULL, &error), error);
    st_store_close(to);
    char command[200];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep tmp)\"", folder);
    assert_int_equal(system(command), 0); // no temporary file is left
    st_store_close(store);
}

static void a_reader_can_export_and_stays_a_reader(void **state)
{
    (void)state;
    st_error error = {0};
    char ids[2][ST_HASH_TEXT];
    st_store *store = open_store(in_folder("source.db"), ST_STORE_WRITE);
    fill(store, ids);
    st_store_close(store);
    store = open_store(in_folder("source.db"), ST_STORE_READ);
    const char *const one[] = {ids[0], NULL};
    assert_ok(st_history_export(store, one, in_folder("part.gz"), &error), error);
    assert_int_equal(number(store, "PRAGMA query_only"), 1);
    assert_int_equal(st_history_import(store, in_folder("part.gz"), true, NULL, &error), ST_FAILED);
    st_store *to = open_store(":memory:", ST_STORE_WRITE);
    assert_ok(st_store_begin(to, &error), error); // inside a transaction of the caller, too
    assert_ok(st_history_import(to, in_folder("part.gz"), true, NULL, &error), error);
    assert_ok(st_history_export(to, NULL, in_folder("part2.gz"), &error), error);
    assert_ok(st_store_commit(to, &error), error);
    assert_int_equal(number(to, "SELECT count(*) FROM session"), 1);
    assert_true(same_files(in_folder("part.gz"), in_folder("part2.gz")));
    st_store_close(to);
    st_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_comes_back_whole_in_another),
        cmocka_unit_test(the_order_in_which_rows_came_does_not_show),
        cmocka_unit_test(shipped_sessions_are_never_resumed),
        cmocka_unit_test(own_rows_are_left_alone),
        cmocka_unit_test(the_file_is_readable_and_has_no_date),
        cmocka_unit_test(marks_go_with_their_sessions),
        cmocka_unit_test(damaged_files_are_refused_whole),
        cmocka_unit_test(lines_are_read_as_json),
        cmocka_unit_test(numbers_are_read_exactly),
        cmocka_unit_test(exports_that_fail_leave_the_old_file),
        cmocka_unit_test(a_reader_can_export_and_stays_a_reader),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
