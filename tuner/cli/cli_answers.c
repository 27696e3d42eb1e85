// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/cli_answers.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/base/types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// --- options -------------------------------------------------------------------------------------------------

st_code st_cli_type(const char *word, const char **name, st_error *error)
{
    const st_type *type = st_type_find(word);
    if (type) {
        *name = type->name;
        return ST_OK;
    }
    const char *names[ST_TYPE_COUNT];
    st_text all;
    st_text_init(&all);
    for (int i = 0; i < ST_TYPE_COUNT; i++) {
        names[i] = st_type_of((st_type_id)i)->name;
        st_text_addf(&all, " %s", names[i]);
    }
    st_code code = st_fail(error, ST_USAGE, NULL, "there is no type %s", word);
    if (error)
        snprintf(error->remedy, sizeof error->remedy, "the types are%s", st_text_string(&all));
    st_text_release(&all);
    return code;
}

st_code st_cli_choice(st_cli *cli, const char *option, const char *const *words, const char **out,
                      st_error *error)
{
    *out = st_parsed_text(cli->parsed, option);
    if (!*out)
        return ST_OK;
    st_text all;
    st_text_init(&all);
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], *out) == 0) {
            st_text_release(&all);
            return ST_OK;
        }
        st_text_addf(&all, "%s%s", i ? (words[i + 1] ? ", " : " or ") : "", words[i]);
    }
    st_code code = st_fail(error, ST_USAGE, NULL, "there is no --%s %s", option, *out);
    if (error)
        snprintf(error->remedy, sizeof error->remedy, "it is %s", st_text_string(&all));
    st_text_release(&all);
    return code;
}

static st_code read_archs(st_cli *cli, st_cli_filter *out, bool *here, st_error *error)
{
    st_list words;
    st_code code = st_parsed_list(cli->parsed, "arch", true, &words, error);
    for (size_t i = 0; i < words.count && code == ST_OK; i++) {
        int cc;
        if (strcmp(words.items[i], "auto") == 0) {
            *here = true;
            continue;
        }
        code = st_cli_arch(words.items[i], &cc, error);
        if (code == ST_OK && out->arch_count == ST_ARCHS_MOST)
            code = st_fail(error, ST_USAGE, "ask in several goes", "more than %d archs", ST_ARCHS_MOST);
        for (size_t a = 0; a < out->arch_count && code == ST_OK; a++)
            if (out->archs[a] == cc) // twice the same would give its rows twice
                cc = 0;
        if (code == ST_OK && cc)
            out->archs[out->arch_count++] = cc;
    }
    if (code == ST_OK && *here && words.count > 1)
        code = st_fail(error, ST_USAGE, "name the archs instead", "--arch auto stands alone");
    st_list_free(&words);
    return code;
}

st_code st_cli_filter_read(st_cli *cli, st_cli_filter *out, st_error *error)
{
    *out = (st_cli_filter){.query = {.cc = -1, .sm_count = -1, .n = -1, .since_ms = -1}};
    const char *wish = st_parsed_text(cli->parsed, "device");
    bool here = false;
    st_code code = read_archs(cli, out, &here, error);
    bool by_number = wish && (st_cli_is_ordinal(wish) || strncmp(wish, "emu", 3) == 0);
    if (code == ST_OK && wish && !by_number) {
        snprintf(out->device, sizeof out->device, "%s", wish);
        out->query.device = out->device;
    } else if (code == ST_OK && (by_number || here)) {
        st_cli_device device;
        code = st_cli_find_device(cli, &device, error);
        if (code == ST_OK && device.present) {
            snprintf(out->device, sizeof out->device, "%s", device.facts.uuid);
            out->query.device = out->device;
        } else if (code == ST_OK)
            fprintf(cli->talk, "note: no GPU is here, so --arch auto means every device that is known\n");
    }
    return code;
}

typedef struct limited {
    st_answer_callback *callback;
    void *context;
    size_t count;
} limited;

static st_code count_answer(void *context, const st_answer *answer, st_error *error)
{
    limited *at = context;
    at->count++;
    return at->callback(at->context, answer, error);
}

st_code st_cli_filter_ask(st_store *store, const st_cli_filter *filter, st_answer_callback *callback,
                          void *context, st_error *error)
{
    limited at = {.callback = callback, .context = context};
    st_code code = ST_OK;
    for (size_t i = 0; i < (filter->arch_count ? filter->arch_count : 1) && code == ST_OK; i++) {
        st_query query = filter->query;
        query.cc = filter->arch_count ? filter->archs[i] : -1;
        if (query.limit && at.count >= query.limit)
            break;
        if (query.limit)
            query.limit -= at.count;
        code = st_store_query(store, &query, count_answer, &at, error);
    }
    return code;
}

// A session that is not there, or no id at all, is said as such rather than as "no rows".
st_code st_cli_check_session(st_store *store, const char *id, st_error *error)
{
    st_session_row row;
    st_code code = st_store_session_of(store, id, &row, error);
    if (code == ST_OK)
        st_session_row_release(&row);
    return code;
}

// --- JSON --------------------------------------------------------------------------------------------------------

static bool put_texts(json_t *object, const st_answer *answer)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"candidate", answer->candidate_id},
                 {"session", answer->session_id},
                 {"family", answer->family},
                 {"problem", answer->problem},
                 {"configuration", answer->configuration},
                 {"type", answer->type},
                 {"operation", answer->operation},
                 {"device", answer->device_name},
                 {"device_uuid", answer->device_uuid},
                 {"backend", answer->backend},
                 {"driver", answer->driver},
                 {"compiler", answer->compiler},
                 {"template_hash", answer->template_hash},
                 {"tool", answer->tool},
                 {"outcome", answer->outcome},
                 {"detail", answer->detail},
                 {"cache", answer->cache},
                 {"phase", answer->phase},
                 {"note", answer->note}};
    bool whole = st_json_put(object, "repro", json_pack("s+", "simtune repro ", answer->candidate_id));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && whole; i++)
        whole = st_json_put(object, texts[i].key, st_json_text_or_null(texts[i].text));
    return whole;
}

static bool put_numbers(json_t *object, const st_answer *answer)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"n", answer->n},
                   {"cc", answer->cc},
                   {"sm_count", answer->sm_count},
                   {"memory_bytes", answer->memory_bytes},
                   {"driver_cuda", answer->driver_cuda},
                   {"registers", answer->registers},
                   {"local_bytes", answer->local_bytes},
                   {"static_smem_bytes", answer->static_smem},
                   {"dynamic_smem_bytes", answer->dynamic_smem},
                   {"blocks_per_sm", answer->blocks_per_sm},
                   {"taken_ms", answer->taken_ms},
                   {"samples", (int64_t)answer->sample_count}};
    const struct {
        const char *key;
        double value;
    } reals[] = {{"median_ns", answer->median_ns},
                 {"comparable_ns", answer->comparable_ns},
                 {"default_ns", answer->default_ns},
                 {"bytes", answer->bytes},
                 {"bytes_per_second", answer->bytes / answer->median_ns * 1e9},
                 {"read_bytes_per_second", answer->read_gbs * 1e9},
                 {"speedup", answer->speedup},
                 {"speedup_low", answer->speedup_low},
                 {"speedup_high", answer->speedup_high},
                 {"occupancy", answer->occupancy}};
    bool whole = true;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && whole; i++)
        whole = st_json_put(object, numbers[i].key, st_json_known_or_null(numbers[i].value));
    for (size_t i = 0; i < sizeof reals / sizeof reals[0] && whole; i++)
        whole = st_json_put(object, reals[i].key, st_json_number(reals[i].value));
    return whole;
}

static json_t *value_json(const st_answer_value *value)
{
    return value->kind == ST_ANSWER_INTEGER ? json_integer(value->integer)
           : value->kind == ST_ANSWER_REAL  ? st_json_number(value->real)
           : value->kind == ST_ANSWER_WORD  ? json_string(value->word)
                                            : json_null();
}

static bool put_values(json_t *object, const st_answer *answer)
{
    json_t *values = json_object();
    bool whole = values && st_json_put(object, "group", answer->group ? json_string(answer->group) : json_null());
    for (size_t i = 0; i < answer->value_count && whole; i++)
        whole = st_json_put(values, answer->values[i].name, value_json(&answer->values[i]));
    return st_json_put(object, "values", values) && whole;
}

json_t *st_answer_json(const st_answer *answer)
{
    json_t *object = json_object(), *ties = NULL;
    if (answer->ties_json && answer->ties_json[0])
        st_json_parse(answer->ties_json, strlen(answer->ties_json), "the store", &ties, NULL);
    bool whole =
        object && put_texts(object, answer) && put_numbers(object, answer) && put_values(object, answer) &&
        st_json_put(object, "ties", ties ? json_incref(ties) : json_null()) &&
        st_json_put(object, "tied", answer->is_winner ? json_integer(answer->tied) : json_null()) &&
        st_json_put(object, "deterministic",
                    answer->deterministic < 0 ? json_null() : json_boolean(answer->deterministic)) &&
        st_json_put(object, "winner", json_boolean(answer->is_winner)) &&
        st_json_put(object, "default", json_boolean(answer->is_default)) &&
        st_json_put(object, "shipped", json_boolean(answer->shipped));
    json_decref(ties);
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

st_code st_cli_print_json(st_cli *cli, json_t *value, st_error *error)
{
    st_text text;
    st_text_init(&text);
    if (value)
        st_json_print(value, &text);
    bool failed = !value || text.failed;
    if (!failed)
        fprintf(cli->out, "%s\n", st_text_string(&text));
    json_decref(value);
    st_text_release(&text);
    return failed ? st_fail_memory(error, "printing JSON") : ST_OK;
}

// --- a session by a word ----------------------------------------------------------------------------------------------

// What began is said where nothing has finished, not shown, since "the latest" is what one may send to others.
static st_code no_finished(st_store *store, const char *family, st_error *error)
{
    st_session_row row;
    st_code code = st_store_session_newest(store, family, &row, error);
    if (code == ST_OK && row.status == ST_SESSION_FINISHED) { // measured ones would have been found
        char remedy[160];
        snprintf(remedy, sizeof remedy, "simtune report %.12s shows the newest, simtune query --best all; tune on such a device to know",
                 row.id);
        code = st_fail(error, ST_NOTHING, remedy, "the store has only predictions%s%s, which nobody measured",
                       family ? " of " : "", family ? family : "");
        st_session_row_release(&row);
        return code;
    }
    if (code == ST_OK) {
        char remedy[160];
        snprintf(remedy, sizeof remedy, "simtune report %.12s shows what there is of it; the command that began it goes on with it",
                 row.id);
        code = st_fail(error, ST_NOTHING, remedy, "the store has no finished session%s%s; the newest, %.12s, %s",
                       family ? " of " : "", family ? family : "", row.id,
                       row.status == ST_SESSION_RUNNING
                           ? "has not ended"
                           : "ended early: it was interrupted, or its default configuration failed");
        st_session_row_release(&row);
        return code;
    }
    if (code == ST_NOTHING && family)
        return st_fail(error, ST_NOTHING, "tune first, or name a session: simtune db info lists them",
                       "the store has no finished session of %s", family);
    return code == ST_NOTHING ? st_fail(error, ST_NOTHING, "tune first: simtune reduce --arch auto",
                                        "the store has no session")
                              : code;
}

st_code st_cli_session_of(st_store *store, const char *family, const char *word, st_session_row *row, st_error *error)
{
    bool is_family = false;
    st_code code = ST_OK;
    if (word && strcmp(word, "latest") != 0)
        code = st_store_knows_family(store, word, &is_family, error);
    if (code == ST_OK && word && !is_family && strcmp(word, "latest") != 0) {
        if (word[strspn(word, "0123456789abcdefABCDEF")])
            return st_fail(error, ST_NOTHING,
                           "simtune db info lists sessions; latest is the newest finished one",
                           "the store has no family %s, and it is no session's id", word);
        return st_store_session_of(store, word, row, error);
    }
    family = is_family ? word : family;
    if (code == ST_OK)
        code = st_store_session_latest(store, family, row, error);
    return code == ST_NOTHING ? no_finished(store, family, error) : code;
}
