// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/cli_place.h"

#include <string.h>

static const char *locks_word(st_locks locks)
{
    static const char *const words[] = {"untried", "work", "refused", "ignored", "local"};
    return words[locks];
}

void st_cli_place_words(const st_file_place *place, st_text *out)
{
    static const char *const journals[][2] = {{"wal", "write-ahead log"},
                                              {"truncate", "rollback journal"},
                                              {"delete", "rollback journal"},
                                              {"persist", "rollback journal"}};
    st_text_add(out, place->file_system[0] ? place->file_system : "an unknown file system");
    if (place->shared)
        st_text_addf(out, " (%s), which several hosts may share", place->source);
    for (size_t i = 0; i < sizeof journals / sizeof journals[0]; i++)
        if (strcmp(place->journal, journals[i][0]) == 0)
            st_text_addf(out, ", %s", journals[i][1]);
}

json_t *st_cli_place_json(const st_file_place *place)
{
    json_t *object = json_object();
    bool whole = object &&
                 st_json_put(object, "file_system", st_json_text_or_null(place->file_system)) &&
                 st_json_put(object, "source", st_json_text_or_null(place->source)) &&
                 st_json_put(object, "shared", json_boolean(place->shared)) &&
                 st_json_put(object, "locks", json_string(locks_word(place->locks))) &&
                 st_json_put(object, "journal", st_json_text_or_null(place->journal));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

st_code st_cli_place_finding(const char *path, st_doctor_finding *out, st_error *error)
{
    st_file_place place;
    st_error why = {0};
    st_text where;
    st_text_init(&where);
    *out = (st_doctor_finding){.part = "store"};
    st_code code = st_place_examine(path, &place, &where, &why);
    snprintf(out->where, sizeof out->where, "%.511s", st_text_string(&where));
    if (code == ST_OK)
        code = st_place_may_write(&place, st_text_string(&where), &why);
    if (code == ST_OK && where.failed)
        code = ST_NO_MEMORY;
    if (code == ST_OK) {
        snprintf(out->version, sizeof out->version, "%s", place.file_system);
        if (place.shared)
            snprintf(out->message, sizeof out->message,
                     "of %s, which several hosts may share: kept with a rollback journal, readers and writers wait "
                     "for each other", place.source);
        else
            snprintf(out->message, sizeof out->message, "several processes can read and write it at once");
    } else if (code != ST_NO_MEMORY) {
        out->state = ST_FINDING_PROBLEM;
        snprintf(out->message, sizeof out->message, "%.767s", why.what);
        snprintf(out->remedy, sizeof out->remedy, "%s", why.remedy);
        code = ST_OK;
    }
    st_text_release(&where);
    return code == ST_NO_MEMORY ? st_fail_memory(error, "looking at the store's place") : code;
}
