// SPDX-License-Identifier: Apache-2.0
// Files of other tools: what such files may look like is taken in as the same rows whatever their form; what goes
// out comes back with the same configurations, outcomes and times; a damaged file is refused whole, with its place
// named; again adds nothing; and every fault on the way leaves the store as it was.
#include "fixture.h"

#include "db/exchange_internal.h"
#include "tuner/base/json.h"

#include <zlib.h>

// A run that was made up, in the shape that Kernel Tuner writes.
#define HEAD                                                                                       \
    "{\n\"device_name\": \"Some GPU 40GB\",\n\"kernel_name\": \"blur_kernel\",\n\"problem_size\": [\n640,\n480\n],\n"    \
    "\"tune_params_keys\": [\n\"bx\",\n\"by\",\n\"path\"\n],\n\"tune_params\": {\n\"bx\": [\n16,\n32\n],\n\"by\": [1, 2],\n" \
    "\"path\": [\"plain\", \"shared mem\"]\n},\n\"objective\": \"time\",\n\"cache\": {\n"
#define FIRST                                                                                      \
    "\"16,1,plain\": {\"bx\": 16, \"by\": 1, \"path\": \"plain\", \"time\": 2.04, \"times\": [2.2, 2.0, 2.0, 2.0, 2.0]," \
    " \"compile_time\": 250.5, \"verification_time\": 0, \"benchmark_time\": 12.5, \"GFLOP/s\": 812.25,"           \
    " \"strategy_time\": 0, \"framework_time\": 1.5, \"registers\": 40, \"timestamp\": \"2024-02-29 23:59:58.502007+00:00\"}"
#define SECOND                                                                                     \
    "\"32,1,plain\": {\"bx\": 32, \"by\": 1, \"path\": \"plain\", \"time\": \"RuntimeFailedConfig\", \"compile_time\": 300.0," \
    " \"verification_time\": 0, \"benchmark_time\": 0.25, \"timestamp\": \"2024-03-01 00:00:01.000000+00:00\"}"
#define THIRD                                                                                      \
    "\"32,2,shared mem\": {\"bx\": 32, \"by\": 2, \"path\": \"shared mem\", \"__error__\": \"CompilationFailedConfig\"," \
    " \"compile_time\": 300.0, \"timestamp\": \"2024-03-01T01:00:02+01:00\"}"
#define FOURTH                                                                                     \
    "\"16,2,shared mem\": {\"bx\": 16, \"by\": 2, \"path\": \"shared mem\", \"time\": 1.25, \"times\": [1.5, 1.25, 1.25]," \
    " \"energy\": NaN, \"timestamp\": \"2024-03-01 00:00:03+00:00\"}"
#define CACHE_FILE HEAD FIRST ",\n" SECOND ",\n" THIRD ",\n" FOURTH "}\n}"

// The same as T4 results of that time: without a schema_version, with the spelling that public files have.
#define T4_FIRST                                                                                   \
    "{\"timestamp\": \"2024-02-29 23:59:58.502007+00:00\", \"configuration\": {\"bx\": 16, \"by\": 1, \"path\": \"plain\"}," \
    " \"times\": {\"compilation\": 250.5, \"framework\": 1.5, \"search_algorithm\": 0, \"validation\": 0,"         \
    " \"runtimes\": [2.2, 2.0, 2.0, 2.0, 2.0]}, \"invalidity\": \"correct\", \"correctness\": 1,"                  \
    " \"measurements\": [{\"name\": \"time\", \"value\": 2.04, \"unit\": \"\"}], \"objectives\": [\"time\"]}"
#define T4_SECOND                                                                                  \
    "{\"configuration\": {\"bx\": 32, \"by\": 1, \"path\": \"plain\"}, \"times\": {\"compilation\": 300.0},"         \
    " \"invalidity\": \"runtime\", \"correctness\": 0, \"measurements\": [{\"name\": \"time\","                     \
    " \"value\": \"RuntimeFailedConfig\", \"unit\": \"\"}], \"objectives\": [\"time\"]}"
#define T4_FILE "{\"metadata\": {\"timeunit\": \"miliseconds\"},\n\"results\": [\n" T4_FIRST ",\n" T4_SECOND "\n]}"

static const char *put(const char *name, const char *text)
{
    const char *path = in_folder(name);
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".gz") == 0) {
        gzFile file = gzopen(path, "wb");
        assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
        assert_int_equal(gzclose(file), Z_OK);
        return path;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return path;
}

static st_imported take(st_store *store, const char *path)
{
    st_error error = {0};
    st_imported done;
    assert_ok(st_exchange_import(store, path, NULL, &done, &error), error);
    return done;
}

static char *text(st_store *store, const char *sql)
{
    static char copies[4][512];
    static int next;
    char *out = copies[next++ % 4];
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const char *found = (const char *)sqlite3_column_text(statement, 0);
    snprintf(out, sizeof copies[0], "%s", found ? found : "NULL");
    sqlite3_finalize(statement);
    return out;
}

static double real(st_store *store, const char *sql)
{
    return strtod(text(store, sql), NULL);
}

// --- in ----------------------------------------------------------------------------------------------------
static void test_cache_file(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    st_imported done = take(store, put("run_cache.json", CACHE_FILE));
    assert_int_equal(done.form, ST_FORM_KERNEL_TUNER);
    assert_int_equal(done.candidates, 4);
    assert_int_equal(done.failed, 2);
    assert_true(done.added > 10 && !done.cut && !done.there_already && !done.device_unknown && !done.family_of_path);
    assert_string_equal(text(store, "SELECT name || '|' || backend FROM device"), "Some GPU 40GB|imported");
    assert_string_equal(text(store, "SELECT family || '|' || status || '|' || shipped FROM session"),
                        "blur_kernel|finished|0");
    assert_int_equal(number(store, "SELECT started_ms FROM session"), 1709251198502);
    assert_int_equal(number(store, "SELECT finished_ms FROM session"), 1709251203000);
    assert_string_equal(text(store, "SELECT text || '|' || ifnull(n, 'no n') FROM problem"), "x=640 y=480|no n");
    assert_string_equal(text(store, "SELECT tool FROM toolchain"), "Kernel Tuner, version unknown");
    assert_string_equal(text(store, "SELECT configuration FROM simtune_best"), "bx=16 by=2 path=shared%20mem");
    assert_string_equal(text(store, "SELECT cache FROM simtune_best"), "warm");
    // The median of the samples, not the mean that one slow sample raised; that is kept as reported.
    assert_true(real(store, "SELECT median_ns FROM simtune_results WHERE configuration = 'bx=16 by=1 path=plain'") == 2e6);
    assert_true(real(store, "SELECT v.value FROM simtune_counters v JOIN simtune_candidates c USING (candidate_key)"
                            " WHERE v.name = 'reported.mean_ns' AND c.configuration = 'bx=16 by=1 path=plain'") == 2.04e6);
    assert_true(real(store, "SELECT value FROM simtune_counters WHERE name = 'GFLOP/s'") == 812.25);
    assert_int_equal(number(store, "SELECT count(*) FROM simtune_counters WHERE name = 'energy'"), 0); // unknown
    assert_int_equal(number(store, "SELECT registers FROM candidate WHERE registers IS NOT NULL"), 40);
    assert_true(real(store, "SELECT max(compile_seconds) FROM candidate WHERE outcome = 'correct'") == 0.2505);
    assert_string_equal(text(store, "SELECT detail FROM candidate WHERE outcome = 'launch'"), "RuntimeFailedConfig");
    assert_string_equal(text(store, "SELECT configuration FROM simtune_candidates WHERE outcome = 'compile'"),
                        "bx=32 by=2 path=shared%20mem");
    assert_string_equal(text(store, "SELECT json_extract(options, '$.imported.tune_params.bx') FROM session"), "[16,32]");
    assert_true(real(store, "SELECT json_extract(summary, '$.imported.seconds.benchmark') FROM session") == 0.01275);
    assert_sound(store);
    // Again, zipped, without white space or without the last brackets it is the same.
    int64_t rows = number(store, "SELECT count(*) FROM candidate");
    const char *const same[] = {put("again.json.gz", CACHE_FILE), put("cut.json", HEAD FIRST "," SECOND "," THIRD "," FOURTH),
                                put("comma.json", HEAD FIRST "," SECOND "," THIRD "," FOURTH ",\n"),
                                put("half.json", HEAD FIRST "," SECOND "," THIRD "," FOURTH "}")};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        done = take(store, same[i]);
        assert_true(done.there_already);
        assert_int_equal(done.added, 0);
        assert_int_equal(done.cut, i > 0);
        assert_int_equal(number(store, "SELECT count(*) FROM candidate"), rows);
    }
    st_store_close(store);
}

static void test_t4(void **state)
{
    (void)state;
    st_error error = {0};
    st_imported done;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    const st_import_wish wish = {"Some GPU 40GB", "blur kernel"};
    assert_ok(st_exchange_import(store, put("blur_T4.json.gz", T4_FILE), &wish, &done, &error), error);
    assert_int_equal(done.form, ST_FORM_T4);
    assert_int_equal(done.candidates, 2);
    assert_int_equal(done.failed, 1);
    assert_string_equal(done.family, "blur_kernel");
    assert_true(real(store, "SELECT median_ns FROM simtune_best") == 2e6);
    assert_string_equal(text(store, "SELECT detail FROM candidate WHERE outcome = 'launch'"), "RuntimeFailedConfig");
    // Without a wish the file's name has to do, and the device is not known; that is another session.
    done = take(store, put("blur_T4.json.gz", T4_FILE));
    assert_true(done.device_unknown && done.family_of_path);
    assert_string_equal(done.family, "blur");
    assert_string_equal(done.device, "unknown device");
    assert_int_equal(number(store, "SELECT count(*) FROM session"), 2);
    assert_sound(store);
    st_store_close(store);
}

// One entry, as the outcome and the median that it comes out with (-1: not measured).
static void entry(const char *result, const char *outcome, double median_ns)
{
    char file[2048];
    snprintf(file, sizeof file, "{\"device_name\":\"g\",\"kernel_name\":\"k\",\"problem_size\":\"callable\","
                                "\"tune_params_keys\":[\"a\"],\"tune_params\":{\"a\":[1]},\"cache\":{\"1\":{\"a\":1%s}}}", result);
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    take(store, put("one.json", file));
    assert_string_equal(text(store, "SELECT outcome FROM candidate"), outcome);
    double found = real(store, "SELECT ifnull((SELECT median_ns FROM measurement), -1)");
    if (found != median_ns)
        fail_msg("%s: %.17g is not %.17g", result, found, median_ns);
    assert_string_equal(text(store, "SELECT text FROM problem"), "problem_size=callable");
    st_store_close(store);
}

static void test_entries(void **state)
{
    (void)state;
    entry(",\"time\":0.5", "correct", 5e5);                      // no samples: the mean is all that is known
    entry(",\"time\":0.5,\"times\":[]", "correct", 5e5);
    entry(",\"time\":0.5,\"times\":null", "correct", 5e5);
    entry(",\"time\":0.5,\"times\":[0.4,Infinity]", "correct", 4e5); // what was lost is left out
    entry(",\"time\":0.5,\"times\":[NaN]", "correct", 5e5);
    entry(",\"times\":[0.4,0.3,0.2]", "correct", 3e5);
    entry(",\"time\":NaN,\"GB/s\":3.5", "correct", -1);          // counters alone
    entry(",\"time\":\"InvalidConfig\"", "constraint", -1);
    entry(",\"time\":\"ErrorConfig\"", "crash", -1);
    entry(",\"time\":1e20", "launch", -1);
    entry(",\"__error__\":\"RuntimeFailedConfig\",\"time\":0.5,\"times\":[0.5]", "launch", -1);
    entry(",\"__error__\":\"RuntimeFailedConfig\",\"outcome\":\"race\"", "race", -1);
    entry(",\"__error__\":\"RuntimeFailedConfig\",\"outcome\":\"correct\"", "launch", -1);
    entry(",\"time\":0.0123456789012345", "correct", 12345.6789012345);
}

static void test_repeated(void **state)
{
    (void)state;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
#define RESULT(times) "{\"configuration\":{\"a\":1},\"times\":{\"runtimes\":[" times "]},\"invalidity\":\"correct\",\"correctness\":1}"
    st_imported done = take(store, put("r_t4.json", "{\"results\":[" RESULT("5,4,3") "," RESULT("5,4,3") "," RESULT("9,8,7") "]}"));
    assert_int_equal(done.repeated, 2);
    assert_int_equal(done.candidates, 1);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), 2); // the first repetition says nothing new
    assert_true(real(store, "SELECT median_ns FROM simtune_best") == 8e6);  // the last round stands
    assert_sound(store);
    st_store_close(store);
    // What it came out with first stands.
    store = open_store(":memory:", ST_STORE_WRITE);
#define WRONG "{\"configuration\":{\"a\":1},\"times\":{\"runtimes\":[1]},\"invalidity\":\"correctness\",\"correctness\":0}"
    done = take(store, put("w_t4.json", "{\"results\":[" RESULT("5") "," WRONG "]}"));
    assert_string_equal(text(store, "SELECT outcome FROM candidate"), "correct");
    done = take(store, put("w_t4.json", "{\"results\":[" WRONG "," RESULT("5") "]}"));
    assert_int_equal(done.repeated, 1);
    assert_int_equal(number(store, "SELECT count(*) FROM candidate WHERE outcome = 'wrong'"), 1);
    assert_int_equal(number(store, "SELECT count(*) FROM measurement"), 1);
    st_store_close(store);
}

static void test_units(void **state)
{
    (void)state;
    static const char *const units[] = {"\"milliseconds\"", "\"miliseconds\"", "\"ms\"", "\"microseconds\"", "\"nanoseconds\"", "\"seconds\"", "null"};
    static const double ns[] = {3e6, 3e6, 3e6, 3e3, 3, 3e9, 3e6};
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
        char file[512];
        snprintf(file, sizeof file, "{\"results\":[" RESULT("3") "],\"metadata\":{\"timeunit\":%s}}", units[i]);
        st_store *store = open_store(":memory:", ST_STORE_WRITE);
        take(store, put("u.json", file));
        assert_true(real(store, "SELECT median_ns FROM measurement") == ns[i]);
        st_store_close(store);
    }
}

// --- what is refused -----------------------------------------------------------------------------------------
static void refused(const char *file, const char *place, const char *what)
{
    st_error error = {0};
    st_imported done;
    char where[300];
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    const char *path = put("bad.json", file);
    st_code code = st_exchange_import(store, path, NULL, &done, &error);
    snprintf(where, sizeof where, "%s%s", path, place);
    if (code != ST_FAILED || !strstr(error.what, where) || !strstr(error.what, what) || !*error.remedy)
        fail_msg("%s: code %d, \"%s\" (%s), not %s … %s", file, (int)code, error.what, error.remedy, where, what);
    assert_int_equal(number(store, "SELECT (SELECT count(*) FROM session) + (SELECT count(*) FROM device)"
                                   " + (SELECT count(*) FROM configuration)"), 0);
    st_store_close(store);
}

static void test_refused(void **state)
{
    (void)state;
    refused("nonsense", ":1:1", "none of the files");
    refused("[1]", ":1:1", "none of the files");
    refused("\xef\xbb\xbf{}", ":1:1", "byte order mark");
    refused("{", ":1:2", "ends where a '\"' should stand");
    refused("{}", "", "neither \"results\" (T4) nor \"cache\"");
    refused("{\"results\": 5}", "", "neither");
    refused("{\"a\" 5}", ":1:6", "a '5' stands where a ':' should");
    refused("{\"a\": }", ":1:7", "a '}' stands where a value should");
    refused("{\"a\": [1,\n2", ":2:2", "ends within a value");
    refused("{\"a\": \"b", ":1:9", "ends within a text");
    refused("{\"a\": 01}", ":1", "a");
    refused("{\"a\": \x01}", ":1:7", "byte 1 stands");
    refused("{\"cache\": {}} x", ":1:15", "after the end");
    refused("{\"cache\": {}, \"results\": []}", ":1", "second list");
    refused("{\"cache\": {}}", "", "\"tune_params_keys\" is missing");
    refused("{\"cache\": {}, \"tune_params_keys\": {}}", "", "not a list");
    refused("{\"cache\": {}, \"tune_params_keys\": [1]}", "", "name 1 of");
#define KEYS "{\"tune_params_keys\": [\"a\", \"b\"],\n\"cache\": {\n"
    refused(KEYS "\"1\": {\"a\": 1}}}", ":3: entry \"1\"", "\"b\" is missing");
    refused(KEYS "\"1,2\": {\"a\": [1]}}}", ":3: entry \"1,2\"", "\"a\" is a list or an object");
    refused(KEYS "\"1,2\": 7}}", ":3: entry \"1,2\"", "it is no object");
    refused(KEYS "\"1,2\": {\"time\": 1, \"times\": [\"x\"]}}}", ":3: entry \"1,2\"", "sample 1 of its times is not a number");
    refused(KEYS "\"1,2\": {\"time\": 1, \"times\": [1, -1]}}}", ":3: entry \"1,2\"", "sample 2 of its times is negative");
    refused(KEYS "\"1,2\": {\"time\": -1}}}", ":3: entry \"1,2\"", "\"time\" is negative");
    refused(KEYS "\"1,2\": {\"time\": 1, \"times\": 2}}}", ":3: entry \"1,2\"", "\"times\" is not a list");
    refused(KEYS "\"1,2\": {\"time\": 1,,}}}", ":3: ", "entry");
    refused(KEYS "\"1,2\": {\"time\": 1", ":3:18", "ends within a value"); // killed in the middle of an entry
    refused("{\"results\": [" RESULT("1"), ":1", "ends where a ']' should stand");
    refused("{\"results\": [\n" RESULT("1") ",\n{\"configuration\": {}}]}", ":3: result 2", "\"invalidity\" is missing");
    refused("{\"results\": [{\"configuration\": {}, \"invalidity\": \"odd\", \"times\": {}}]}", ":1: result 1", "\"invalidity\" is \"odd\"");
    refused("{\"results\": [{\"configuration\": {}, \"invalidity\": \"correct\"}]}", ":1: result 1", "\"times\" is missing");
    refused("{\"results\": [], \"metadata\": {\"timeunit\": \"weeks\"}}", "", "unknown: weeks");
    refused("{\"results\": [], \"metadata\": {\"timeunit\": 3}}", "", "not a text");
    refused("{\"results\": [], \"metadata\": {\"simtune\": {\"cache\": \"hot\"}}}", "", "neither cold nor warm");
    char deep[300] = "{\"a\": ";
    memset(deep + 6, '[', 80);
    refused(deep, ":1:", "more than 64 brackets");
}

static void test_damaged_gzip(void **state)
{
    (void)state;
    st_error error = {0};
    st_imported done;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    const char *path = put("whole.json.gz", CACHE_FILE);
    st_text bytes;
    st_text_init(&bytes);
    assert_ok(st_text_read_file(&bytes, path, &error), error);
    assert_ok(st_text_write_file(in_folder("part.json.gz"), bytes.data, bytes.length - 20, NULL, &error), error);
    st_text_release(&bytes);
    assert_int_equal(st_exchange_import(store, in_folder("part.json.gz"), NULL, &done, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "part.json.gz"));
    assert_int_equal(st_exchange_import(store, in_folder("not there"), NULL, &done, &error), ST_FAILED);
    assert_non_null(strstr(error.what, "No such file"));
    assert_int_equal(number(store, "SELECT count(*) FROM session"), 0);
    st_store_close(store);
}

// --- out and in again ------------------------------------------------------------------------------------------
static void fill(st_store *store, st_session_row *session)
{
    st_error error = {0};
    int64_t problem, candidate, configuration;
    assert_ok(add_session(store, "reduce", "GPU-1", "580", session, &error), error);
    assert_ok(add_candidate(store, session, 1024, "BLOCK=256 F=two", 1234.567, &problem, &candidate, &error), error);
    assert_ok(add_candidate(store, session, 1024, "BLOCK=64 F=one", 987.5, &problem, &candidate, &error), error);
    const double finals[] = {31.25 / 7, 12959.999963641167, 1e9 / 3, 0.5}, warm[] = {500, 501, 502};
    st_measurement_row m = some_measurement(candidate, "finals", 0, "cold", finals, 4);
    m.median_ns = (31.25 / 7 + 12959.999963641167) / 2;
    m.batch = 3;
    assert_ok(st_store_measurement(store, &m, &error), error);
    m = some_measurement(candidate, "screen", 0, "warm", warm, 3);
    m.median_ns = 501;
    assert_ok(st_store_measurement(store, &m, &error), error);
    static const char *const failures[] = {"wrong", "race", "compile", "launch", "crash", "timeout", "constraint", "skipped"};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        char words[64];
        snprintf(words, sizeof words, "BLOCK=%zu F=one", 1000 + i);
        assert_ok(st_store_configuration(store, "reduce", words, &configuration, &error), error);
        st_candidate_row row = blank_candidate(session->key, problem, configuration, failures[i]);
        row.detail = i % 2 ? (char *)"line 1\nline \"2\" \xc3\xa9 cut \xc3" : NULL;
        row.registers = i == 0 ? 33 : -1;
        assert_ok(st_store_candidate(store, &row, &error), error);
    }
    number(store, "UPDATE measurement SET median_ns = median_ns + 0.1 WHERE phase = 'screen' AND cache = 'cold' RETURNING 1");
    assert_ok(st_store_session_end(store, session->key, ST_SESSION_FINISHED, NULL, &error), error);
}

// What must come back, in one text.
static void tell(st_store *store, const char *cache, char *out, size_t size)
{
    char sql[1200];
    snprintf(sql, sizeof sql,
             "SELECT group_concat(line, x'0a') FROM (SELECT c.configuration || '|' || c.outcome || '|' ||"
             " ifnull(c.registers, '') || '|' || c.problem || '|' || c.type || c.operation || c.n || '|' ||"
             " ifnull(printf('%%.14g', r.median_ns), '') || '|' || ifnull(r.sample_count, '') AS line"
             " FROM simtune_candidates c LEFT JOIN simtune_results r ON r.candidate_key = c.candidate_key AND r.cache = '%s'"
             " WHERE c.outcome <> 'skipped' AND (c.outcome <> 'correct' OR r.median_ns IS NOT NULL) ORDER BY c.configuration)",
             cache);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    snprintf(out, size, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

static void test_round_trip(void **state)
{
    (void)state;
    st_error error = {0};
    st_session_row session;
    st_store *from = open_store(":memory:", ST_STORE_WRITE);
    fill(from, &session);
    const st_exchange_form forms[] = {ST_FORM_T4, ST_FORM_KERNEL_TUNER};
    static const char *const caches[] = {NULL, "cold", "warm"}, *const names[] = {"o.json", "o.json.gz"};
    for (size_t i = 0; i < 12; i++) {
        st_exchange_form form = forms[i % 2];
        const char *cache = caches[i / 2 % 3], *path = in_folder(names[i / 6]);
        const st_export_wish wish = {.n = -1, .cache = cache};
        st_exported done;
        char before[2000], after[2000];
        assert_ok(st_exchange_export(from, &wish, form, path, &done, &error), error);
        assert_int_equal(done.candidates, cache && strcmp(cache, "warm") == 0 ? 8 : 9);
        assert_int_equal(done.unmeasured, cache && strcmp(cache, "warm") == 0 ? 2 : 1); // the skipped one
        assert_string_equal(done.problem, "T=f32 op=sum n=1024");
        st_store *to = open_store(":memory:", ST_STORE_WRITE);
        st_imported in = take(to, path);
        assert_int_equal(in.form, form);
        assert_int_equal(in.failed, 7);
        tell(from, cache ? cache : "cold", before, sizeof before);
        tell(to, cache ? cache : "cold", after, sizeof after);
        assert_string_equal(before, after);
        // Every sample, to the last bit but one.
        assert_int_equal(number(to, "SELECT count(*) FROM measurement"), done.candidates - 7);
        assert_string_equal(text(to, "SELECT driver || compiler FROM toolchain"), "580nvrtc 13.0");
        assert_int_equal(number(to, "SELECT cc * 1000 + sm_count FROM device"), 90132);
        if (!cache || strcmp(cache, "cold") == 0)
            assert_true(real(to, "SELECT value FROM simtune_counters WHERE kind = 'pc' AND name = 'dram_throughput'") == 0.93);
        assert_sound(to);
        st_store_close(to);
    }
    st_store_close(from);
}

// Readers rank by the reported time: that of a survivor does not stand behind what was only screened, and lost. Samples
// go out as they were taken.
static void test_one_scale(void **state)
{
    (void)state;
    st_error error = {0};
    st_session_row session;
    st_store *from = open_store(":memory:", ST_STORE_WRITE);
    int64_t problem, best, loser;
    const double finals[] = {540, 540, 540};
    assert_ok(add_session(from, "reduce", "GPU-1", "580", &session, &error), error);
    assert_ok(add_candidate(from, &session, 1024, "BLOCK=1", 500, &problem, &best, &error), error);
    assert_ok(add_candidate(from, &session, 1024, "BLOCK=2", 510, &problem, &loser, &error), error);
    st_measurement_row m = some_measurement(best, "finals", 0, "cold", finals, 3);
    assert_ok(st_store_measurement(from, &m, &error), error);
    number(from, "UPDATE measurement SET samples = (SELECT samples FROM measurement WHERE phase = 'finals')"
                 " WHERE median_ns = 510 RETURNING 1"); // any whose mean is told easily: 540
    assert_ok(st_store_session_end(from, session.key, ST_SESSION_FINISHED, NULL, &error), error);
    const st_exchange_form forms[] = {ST_FORM_T4, ST_FORM_KERNEL_TUNER};
    for (size_t i = 0; i < 2; i++) {
        const st_export_wish wish = {.n = -1};
        st_exported done;
        assert_ok(st_exchange_export(from, &wish, forms[i], in_folder("scale.json"), &done, &error), error);
        st_store *to = open_store(":memory:", ST_STORE_WRITE);
        take(to, in_folder("scale.json"));
        static const char reported[] = "SELECT value FROM simtune_counters k JOIN simtune_candidates c USING (candidate_key)"
                                       " WHERE k.name = 'reported.mean_ns' AND c.configuration = 'BLOCK=%d'";
        for (int block = 1; block <= 2; block++) {
            char sql[200];
            snprintf(sql, sizeof sql, reported, block);
            assert_true(fabs(real(to, sql) - (block == 1 ? 540 : 580)) < 1e-6);
        }
        assert_true(fabs(real(to, "SELECT max(median_ns) FROM simtune_results") - 540) < 1e-6);
        st_store_close(to);
    }
    assert_null(from->scales);
    st_store_close(from);
}

// Samples are the same doubles, or their neighbours.
static void test_samples_survive(void **state)
{
    (void)state;
    const double ns[] = {0.001, 1.0 / 3, 12.5, 999.999, 1234.567, 12959.999963641167, 31.999778002500534, 1e9 / 7, 123456789.125};
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
        st_text out;
        st_text_init(&out);
        st_json_add_real(&out, ns[i] / 1e6);
        double back = st_scaled_ns(strtod(st_text_string(&out), NULL), 1e6);
        assert_true(back == ns[i] || nextafter(back, ns[i]) == ns[i]);
        assert_true(strpbrk(out.data, ".e") != NULL);
        st_text_release(&out);
    }
    assert_true(st_scaled_ns(0.001234567, 1e6) == 1234.567); // what was decimal is decimal again
    assert_true(isnan(st_scaled_ns(NAN, 1e6)));
}

static void test_imported_goes_out_again(void **state)
{
    (void)state;
    st_error error = {0};
    st_exported done;
    st_text first;
    st_text_init(&first);
    st_store *store = open_store(":memory:", ST_STORE_WRITE), *again = open_store(":memory:", ST_STORE_WRITE);
    take(store, put("run_cache.json", CACHE_FILE));
    const st_export_wish wish = {.n = -1};
    assert_ok(st_exchange_export(store, &wish, ST_FORM_KERNEL_TUNER, in_folder("out_cache.json"), &done, &error), error);
    assert_string_equal(done.cache, "warm");
    assert_ok(st_text_read_file(&first, in_folder("out_cache.json"), &error), error);
    // As Kernel Tuner reads it: names in order, the key of each entry, its way of ending a file, its words.
    static const char *const wanted[] = {"\"tune_params_keys\": [\"bx\", \"by\", \"path\"]", "\"problem_size\": [640, 480]",
                                         "\"bx\": [16, 32]", "\n\"16,2,shared mem\": {\"bx\": 16, \"by\": 2, \"path\": \"shared mem\"",
                                         "\"time\": 2.04, \"times\": [2.2, 2.0, 2.0, 2.0, 2.0]", "\"GFLOP/s\": 812.25",
                                         "\"__error__\": \"CompilationFailedConfig\"", "\"timestamp\": \"2024-02-29 23:59:58.502000+00:00\""};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(first.data, wanted[i]))
            fail_msg("%s is not in %s", wanted[i], first.data);
    assert_string_equal(first.data + first.length - 4, "}}\n}");
    take(again, in_folder("out_cache.json"));
    char before[2000], after[2000];
    tell(store, "warm", before, sizeof before);
    tell(again, "warm", after, sizeof after);
    assert_string_equal(before, after);
    st_text_release(&first);
    st_store_close(store);
    st_store_close(again);
}

static void test_what_goes_out(void **state)
{
    (void)state;
    st_error error = {0};
    st_exported done;
    st_session_row one, two, other;
    int64_t problem, candidate;
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    fill(store, &one);
    const char *path = in_folder("o_cache.json");
    // A newer session of the same problem: its candidates stand, other parameters of the older one do not.
    assert_ok(add_session(store, "reduce", "GPU-1", "590", &two, &error), error);
    assert_ok(add_candidate(store, &two, 1024, "BLOCK=256 F=two", 1000, &problem, &candidate, &error), error);
    number(store, "UPDATE session SET started_ms = started_ms + 5 WHERE session_id = (SELECT max(session_id) FROM session) RETURNING 1");
    st_export_wish wish = {.n = -1};
    assert_ok(st_exchange_export(store, &wish, ST_FORM_T4, path, &done, &error), error);
    assert_int_equal(done.sessions, 2);
    assert_int_equal(done.candidates, 9);
    assert_int_equal(done.older, 1);
    assert_ok(add_candidate(store, &one, 1024, "BLOCK=256 G=two", 1, &problem, &candidate, &error), error);
    assert_ok(st_exchange_export(store, &wish, ST_FORM_T4, path, &done, &error), error);
    assert_int_equal(done.strangers, 1);
    // Several problems or devices: which ones.
    assert_ok(add_session(store, "reduce", "GPU-2", "590", &other, &error), error);
    assert_ok(add_candidate(store, &other, 2048, "BLOCK=256 F=two", 1000, &problem, &candidate, &error), error);
    assert_int_equal(st_exchange_export(store, &wish, ST_FORM_KERNEL_TUNER, path, &done, &error), ST_USAGE);
    assert_non_null(strstr(error.what, "n=1024 on NVIDIA H200 (GPU-1); reduce"));
    wish.n = 2048;
    assert_ok(st_exchange_export(store, &wish, ST_FORM_KERNEL_TUNER, path, &done, &error), error);
    assert_int_equal(done.candidates, 1);
    wish = (st_export_wish){.n = -1, .device = "gpu-2"};
    assert_ok(st_exchange_export(store, &wish, ST_FORM_KERNEL_TUNER, path, &done, &error), error);
    wish.cache = "warm";
    assert_int_equal(st_exchange_export(store, &wish, ST_FORM_KERNEL_TUNER, path, &done, &error), ST_NOTHING);
    wish = (st_export_wish){.n = -1, .family = "scan"};
    assert_int_equal(st_exchange_export(store, &wish, ST_FORM_JSONL, path, &done, &error), ST_NOTHING);
    const int archs[] = {80, 90};
    wish = (st_export_wish){.n = 1024, .archs = archs, .arch_count = 2, .type = "f32", .operation = "sum"};
    assert_ok(st_exchange_export(store, &wish, ST_FORM_JSONL, in_folder("some.jsonl.gz"), &done, &error), error);
    assert_int_equal(done.sessions, 2);
    st_store *part = open_store(":memory:", ST_STORE_WRITE);
    take(part, in_folder("some.jsonl.gz"));
    assert_int_equal(number(part, "SELECT count(*) FROM candidate"), done.candidates);
    assert_int_equal(number(part, "SELECT count(*) FROM problem"), 1);
    assert_sound(part);
    st_store_close(part);
    st_store_close(store);
}

static void test_same_bytes(void **state)
{
    (void)state;
    st_error error = {0};
    st_exported done;
    st_session_row session;
    st_store *store = open_store(":memory:", ST_STORE_WRITE), *copy = open_store(":memory:", ST_STORE_WRITE);
    fill(store, &session);
    assert_ok(st_history_export(store, NULL, in_folder("all.jsonl.gz"), &error), error);
    assert_ok(st_history_import(copy, in_folder("all.jsonl.gz"), false, NULL, &error), error);
    const st_export_wish wish = {.n = -1};
    for (int form = ST_FORM_T4; form <= ST_FORM_KERNEL_TUNER; form++) {
        st_text a, b;
        st_text_init(&a), st_text_init(&b);
        assert_ok(st_exchange_export(store, &wish, (st_exchange_form)form, in_folder("a.json"), &done, &error), error);
        assert_ok(st_exchange_export(copy, &wish, (st_exchange_form)form, in_folder("b.json"), &done, &error), error);
        assert_ok(st_text_read_file(&a, in_folder("a.json"), &error), error);
        assert_ok(st_text_read_file(&b, in_folder("b.json"), &error), error);
        assert_string_equal(a.data, b.data);
        st_text_release(&a), st_text_release(&b);
    }
    st_store_close(store);
    st_store_close(copy);
}

// --- names and dates ----------------------------------------------------------------------------------------
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int form; // -1: cannot be told
    } rows[] = {{"a.jsonl", ST_FORM_JSONL}, {"a.jsonl.gz", ST_FORM_JSONL}, {"a.gz", ST_FORM_JSONL}, {"a", ST_FORM_JSONL},
                {"a.json", -1}, {"a.json.gz", -1}, {"a_T4.json", ST_FORM_T4}, {"d/a.t4.json.gz", ST_FORM_T4}, {"at4.json", -1},
                {"t42.json", -1}, {"a_cache.json", ST_FORM_KERNEL_TUNER}, {"cache.json", ST_FORM_KERNEL_TUNER},
                {"kernel_tuner_x.json", ST_FORM_KERNEL_TUNER}, {"x-kernel-tuner.JSON", ST_FORM_KERNEL_TUNER},
                {"t4_cache.json", -1}, {"cache/a.json", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_exchange_form form;
        bool told = st_exchange_form_of_path(rows[i].path, &form);
        if (told != (rows[i].form >= 0) || (told && (int)form != rows[i].form))
            fail_msg("%s is taken for %s", rows[i].path, told ? st_exchange_form_name(form) : "nothing");
    }
    char family[12];
    static const char *const names[][2] = {{"blur_kernel", "blur_kernel"}, {"foo<float, 4>", "foo_float_4"}, {"--", "unknown"},
                                           {"a name that is long", "a_name_that"}, {"", "unknown"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        st_family_of(names[i][0], family, sizeof family);
        assert_string_equal(family, names[i][1]);
    }
}

static void test_dates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"1970-01-01 00:00:01", 1000}, {"2023-12-22 09:54:05.502007+00:00", 1703238845502}, {"2024-02-29T23:59:59Z", 1709251199000},
                {"2024-03-01T01:00:00.5+01:00", 1709251200500}, {"2024-02-29 18:30:00-0530", 1709251200000}, {"2100-03-01 00:00:00", 4107542400000},
                {"", -1}, {"yesterday", -1}, {"2024-13-01 00:00:00", -1}, {"2024-01-01 25:00:00", -1}, {"2024-01-01 00:00:00 CET", -1},
                {"2024-01-01 00:00:00+99:00", -1}, {"1969-01-01 00:00:00", -1}, {"1970-01-01 00:00:00", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (st_date_parse(rows[i].text) != rows[i].ms)
            fail_msg("%s is %lld", rows[i].text, (long long)st_date_parse(rows[i].text));
}

// A value of a parameter: what stands in the configuration's text, and what goes out again.
static void test_values(void **state)
{
    (void)state;
    static const char *const rows[][3] = {{"1", "1", "1"}, {"-7", "-7", "-7"}, {"0.5", "0.5", "0.5"}, {"true", "true", "true"},
                                          {"null", "None", "null"}, {"\"a b\"", "a%20b", "\"a b\""}, {"\"50%\"", "50%25", "\"50%\""},
                                          {"\"a=b\"", "a=b", "\"a=b\""}, {"\"\"", "", "\"\""}, {"\"1x\"", "1x", "\"1x\""},
                                          {"\"0x10\"", "0x10", "\"0x10\""}, {"\"007\"", "007", "\"007\""}, {"\"nan\"", "nan", "\"nan\""},
                                          {"\"%zz\"", "%25zz", "\"%zz\""}, {"\"tab\\t\"", "tab%09", "\"tab\\u0009\""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        st_error error = {0};
        st_trial trial;
        st_text out;
        char wanted[64];
        st_text_init(&out);
        st_trial_init(&trial);
        json_t *value = json_loads(rows[i][0], JSON_DECODE_ANY, NULL);
        assert_ok(st_trial_add_parameter(&trial, "na me=", value, &error), error);
        snprintf(wanted, sizeof wanted, "na%%20me%%3D=%s", rows[i][1]);
        assert_string_equal(st_text_string(&trial.configuration), wanted);
        st_json_add_value(&out, rows[i][1]);
        assert_string_equal(st_text_string(&out), rows[i][2]);
        json_decref(value);
        st_trial_release(&trial);
        st_text_release(&out);
    }
}

// --- faults -------------------------------------------------------------------------------------------------
static const char count_sql[] = "SELECT (SELECT count(*) FROM device) + (SELECT count(*) FROM configuration)"
                                " + (SELECT count(*) FROM session) + (SELECT count(*) FROM metric)";

// Each allocation, system call and SQLite step fails once: the file is then taken in whole or not at all.
static void import_with_faults(st_fault kind, const char *path, unsigned long least)
{
    unsigned long n = 1;
    st_store *store = open_store(":memory:", ST_STORE_WRITE); // as empty after each failure as before
    for (bool hit = true; hit; n++) {
        st_error error = {0};
        st_imported done;
        st_fault_arm(kind, n);
        st_code code = st_exchange_import(store, path, NULL, &done, &error);
        hit = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        assert_int_equal(store->depth, 0);
        if (hit && code == ST_OK)
            fail_msg("%s: fault %lu of kind %d was not reported", path, n, (int)kind);
        if (code != ST_OK) {
            assert_true(*error.what && hit);
            assert_int_equal(number(store, count_sql), 0);
            assert_int_equal(done.added, 0);
        }
    }
    assert_true(number(store, "SELECT count(*) FROM candidate") >= 2); // the last trial met no fault
    st_store_close(store);
    if (n < least)
        fail_msg("%s: only %lu passes", path, n);
}

static void export_with_faults(st_store *store, st_exchange_form form, st_fault kind, const char *path)
{
    st_error error = {0};
    st_exported done;
    st_text whole, found;
    const st_export_wish wish = {.n = -1, .type = "f32"};
    st_text_init(&whole);
    assert_ok(st_exchange_export(store, &wish, form, path, &done, &error), error);
    assert_ok(st_text_read_file(&whole, path, &error), error);
    bool hit = true;
    for (unsigned long n = 1; hit; n++) {
        st_fault_arm(kind, n);
        st_code code = st_exchange_export(store, &wish, form, path, &done, &error);
        hit = st_fault_injected(kind);
        st_fault_arm(kind, 0);
        assert_int_equal(store->depth, 0);
        assert_int_equal(sqlite3_get_autocommit(store->db), 1);
        assert_true(code == ST_OK || *error.what);
        // Whether it failed, or a second try made it good: the file is as it was.
        st_text_init(&found);
        assert_ok(st_text_read_file(&found, path, &error), error);
        assert_true(found.length == whole.length && memcmp(found.data, whole.data, whole.length) == 0);
        st_text_release(&found);
    }
    st_text_release(&whole);
}

static void test_faults_of_import(void **state)
{
    (void)state;
    char cache[256], t4[256];
    snprintf(cache, sizeof cache, "%s", put("faults_cache.json.gz", CACHE_FILE));
    snprintf(t4, sizeof t4, "%s", put("faults_T4.json", T4_FILE));
    // Our own allocations only: jansson 2.14's reader does not survive that its token buffer cannot grow.
    json_set_alloc_funcs(malloc, free);
    import_with_faults(ST_FAULT_SQLITE, cache, 60);
    import_with_faults(ST_FAULT_SQLITE, t4, 40);
    import_with_faults(ST_FAULT_ALLOCATION, cache, 40);
    import_with_faults(ST_FAULT_ALLOCATION, t4, 25);
    import_with_faults(ST_FAULT_SYSTEM, cache, 6);
    st_json_setup();
}

static void test_faults_of_export(void **state)
{
    (void)state;
    static const st_fault kinds[] = {ST_FAULT_SQLITE, ST_FAULT_ALLOCATION, ST_FAULT_SYSTEM};
    static const char *const paths[] = {"f.jsonl.gz", "f_T4.json", "f_cache.json.gz"};
    st_session_row session;
    char place[256];
    st_store *store = open_store(":memory:", ST_STORE_WRITE);
    fill(store, &session);
    for (int form = 0; form < ST_FORM_COUNT; form++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            snprintf(place, sizeof place, "%s", in_folder(paths[form]));
            export_with_faults(store, (st_exchange_form)form, kinds[i], place);
        }
    st_store_close(store);
}

// What is exported is written as it is made: memory does not grow with the file, and nothing is at its name before the end.
static void exports_are_written_as_they_are_made(void **state)
{
    (void)state;
    enum { TIMES = 200, BYTES = 40000 };
    st_error error = {0};
    const char *path = in_folder("stream.jsonl");
    char temporary[300];
    snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    for (int zipped = 0; zipped < 2; zipped++)
        for (int finishes = 0; finishes < 2; finishes++) {
            st_sink sink = {0};
            st_text text;
            uint64_t random = 12345;
            size_t most = 0;
            struct stat status;
            st_text_init(&text);
            assert_ok(st_sink_open(&sink, path, zipped, &error), error);
            for (int i = 0; i < TIMES; i++) {
                st_text_clear(&text);
                for (int k = 0; k < BYTES / 8; k++, random = random * 6364136223846793005u + 1442695040888963407u)
                    st_text_add_bytes(&text, &random, 8); // hardly anything to compress
                assert_ok(st_sink_add(&sink, &text, &error), error);
                most = sink.waiting.capacity > most ? sink.waiting.capacity : most;
            }
            assert_true(most < 20 * BYTES);
            assert_int_equal(stat(temporary, &status), 0);
            assert_true(status.st_size > TIMES * BYTES / 2);
            assert_int_equal(access(path, F_OK), -1);
            if (finishes)
                assert_ok(st_sink_finish(&sink, &error), error);
            st_sink_release(&sink);
            assert_int_equal(access(temporary, F_OK), -1);
            assert_int_equal(access(path, F_OK), finishes ? 0 : -1);
            unlink(path);
            st_text_release(&text);
        }
    // An equal file is left untouched.
    struct stat before, after;
    for (int times = 0; times < 2; times++) {
        st_sink sink = {0};
        st_text text;
        st_text_init(&text);
        st_text_add(&text, "same\n");
        assert_ok(st_sink_open(&sink, path, false, &error), error);
        assert_ok(st_sink_add(&sink, &text, &error), error);
        assert_ok(st_sink_finish(&sink, &error), error);
        st_sink_release(&sink);
        st_text_release(&text);
        assert_int_equal(stat(path, times ? &after : &before), 0);
    }
    assert_true(before.st_ino == after.st_ino);
    assert_int_equal(access(temporary, F_OK), -1);
}

int main(void)
{
    st_json_setup();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_file), cmocka_unit_test(test_t4), cmocka_unit_test(test_entries),
        cmocka_unit_test(test_repeated), cmocka_unit_test(test_units), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_gzip), cmocka_unit_test(test_round_trip), cmocka_unit_test(test_one_scale), cmocka_unit_test(test_samples_survive),
        cmocka_unit_test(test_imported_goes_out_again), cmocka_unit_test(test_what_goes_out), cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_names), cmocka_unit_test(test_dates), cmocka_unit_test(test_values), cmocka_unit_test(test_faults_of_import),
        cmocka_unit_test(test_faults_of_export),
        cmocka_unit_test(exports_are_written_as_they_are_made)};
    return cmocka_run_group_tests(tests, make_fast_folder, remove_folder);
}
