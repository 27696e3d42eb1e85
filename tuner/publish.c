// SPDX-License-Identifier: Apache-2.0
#include "tuner/publish.h"

#include "db/exchange.h"
#include "db/generate.h"
#include "tuner/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct collecting {
    const st_template *tmpl;
    const st_publish *wanted;
    st_choice *choices;
    size_t count, capacity, stale, emulated, generated, imported;
} collecting;

static bool type_wanted(const st_publish *wanted, const char *type)
{
    for (size_t i = 0; i < wanted->type_count; i++)
        if (type && strcmp(wanted->types[i], type) == 0)
            return true;
    return wanted->type_count == 0;
}

// Answers come newest first within a device and problem.
static st_choice *already_there(const collecting *all, const st_choice *choice)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->choices[i].device_class.cc == choice->device_class.cc &&
            all->choices[i].device_class.sm_count == choice->device_class.sm_count &&
            memcmp(all->choices[i].problem.value, choice->problem.value,
                   all->tmpl->axis_count * sizeof choice->problem.value[0]) == 0)
            return &all->choices[i];
    return NULL;
}

static void copy_text(char *to, size_t capacity, const char *from)
{
    snprintf(to, capacity, "%s", from ? from : "");
}

static st_code collect(void *context, const st_answer *answer, st_error *error)
{
    collecting *all = context;
    st_choice choice = {.device_class = {answer->cc, answer->sm_count}};
    bool is_predicted = st_text_equal(answer->backend, ST_PREDICTED_BACKEND);
    bool is_emulated = !st_backend_is_hardware(answer->backend) && !is_predicted;
    bool is_generated = st_text_equal(answer->backend, ST_GENERATED_BACKEND);
    if (!answer->is_winner || !type_wanted(all->wanted, answer->type) ||
        !st_text_equal(answer->cache, all->wanted->cache))
        return ST_OK;
    if (is_generated) { // not even as emulated: nobody ran it
        all->generated++;
        return ST_OK;
    }
    if (st_text_equal(answer->backend, ST_IMPORTED_BACKEND)) { // other tools measure and verify in other ways
        all->imported++;
        return ST_OK;
    }
    if (is_emulated && !all->wanted->allow_emulated) {
        all->emulated++;
        return ST_OK;
    }
    if (!st_text_equal(answer->template_hash, all->tmpl->hash) ||
        st_problem_parse(all->tmpl, answer->problem, &choice.problem, NULL) != ST_OK ||
        st_config_parse(all->tmpl, answer->configuration, &choice.config, NULL) != ST_OK) {
        all->stale++;
        return ST_OK;
    }
    // A header and a lock file name the class; what no device has would make a header that nothing can read.
    if (answer->cc < 20 || answer->cc > 999 || answer->sm_count < 1)
        return st_fail(error, ST_FAILED, "see simtune db check; export anew from the device, or narrow it with --device",
                       "the store says of the device %s that its compute capability is %d (10 * major + minor, from 20 on) "
                       "and that it has %d multiprocessors: no header can be made for it",
                       answer->device_name ? answer->device_name : "?", answer->cc, answer->sm_count);
    st_choice *there = already_there(all, &choice);
    if (there && (is_predicted || !there->predicted)) // what was measured takes the place of what was predicted
        return ST_OK;
    choice.blocks_per_sm = answer->blocks_per_sm > 0 ? answer->blocks_per_sm : 1;
    copy_text(choice.device_name, sizeof choice.device_name, answer->device_name);
    copy_text(choice.driver, sizeof choice.driver, answer->driver);
    copy_text(choice.compiler, sizeof choice.compiler, answer->compiler);
    copy_text(choice.template_hash, sizeof choice.template_hash, answer->template_hash);
    copy_text(choice.session_id, sizeof choice.session_id, answer->session_id);
    copy_text(choice.candidate_id, sizeof choice.candidate_id, answer->candidate_id);
    choice.memory_bytes = answer->memory_bytes;
    choice.measured_ms = answer->taken_ms;
    choice.samples = answer->sample_count;
    choice.median_ns = answer->median_ns;
    choice.speedup = answer->speedup;
    choice.speedup_low = answer->speedup_low;
    choice.speedup_high = answer->speedup_high;
    choice.gbs = answer->bytes / answer->median_ns;
    choice.tied = answer->tied;
    choice.deterministic = answer->deterministic == 1;
    choice.emulated = is_emulated;
    choice.shipped = answer->shipped;
    choice.predicted = is_predicted;
    if (there) {
        *there = choice;
        return ST_OK;
    }
    st_choice *choices = st_grow(all->choices, &all->capacity, all->count + 1, sizeof *choices);
    if (!choices)
        return st_fail_memory(error, "collecting winners");
    all->choices = choices;
    choices[all->count++] = choice;
    return ST_OK;
}

st_code st_choices_from_store(st_store *store, const st_template *tmpl, const st_publish *wanted,
                              st_choice **out, size_t *count, size_t *stale, size_t *emulated,
                              st_error *error)
{
    collecting all = {.tmpl = tmpl, .wanted = wanted};
    st_query query = {.family = tmpl->family,
                      .device = wanted->device,
                      .cc = wanted->cc,
                      .sm_count = wanted->sm_count,
                      .n = -1,
                      .since_ms = -1,
                      .cache = wanted->cache,
                      .session = wanted->session,
                      .best = true,
                      .shipped = wanted->shipped_only};
    *out = NULL;
    *count = 0;
    st_code code = st_store_query(store, &query, collect, &all, error);
    if (stale)
        *stale = all.stale;
    if (emulated)
        *emulated = all.emulated;
    if (code == ST_OK && !all.count) {
        if (all.stale)
            code = st_fail(error, ST_NOTHING, "tune again with this version",
                           "%zu winner%s of %s in the store %s measured with another version of its template",
                           all.stale, all.stale == 1 ? "" : "s", tmpl->family, all.stale == 1 ? "was" : "were");
        else if (all.emulated)
            code = st_fail(error, ST_NOTHING, "tune on a GPU, or allow it with --allow-emulated",
                           "the winners of %s in the store come from the emulated device", tmpl->family);
        else if (all.generated)
            code = st_fail(error, ST_NOTHING, "tune on a GPU, or name another store with --db",
                           "the winners of %s in the store were generated, not measured", tmpl->family);
        else if (all.imported)
            code = st_fail(error, ST_NOTHING, "tune on a GPU: what other tools measured is never emitted as tuned",
                           "the winners of %s in the store were imported from other tools' files", tmpl->family);
        else
            code = st_fail(error, ST_NOTHING, "tune it on such a device, or ask simtune query what is known",
                           "the store knows no winner of %s for this", tmpl->family);
    }
    if (code != ST_OK) {
        st_free(all.choices);
        return code;
    }
    *out = all.choices;
    *count = all.count;
    return ST_OK;
}

// `place` as a file: itself when it ends in .h, else simtune_FAMILY.h in it.
static void header_path(const st_template *tmpl, const char *place, st_text *path)
{
    size_t length = place ? strlen(place) : 0;
    struct stat status;
    bool is_folder = place && stat(place, &status) == 0 && S_ISDIR(status.st_mode);
    if (!is_folder && length > 2 && strcmp(place + length - 2, ".h") == 0)
        st_text_add(path, place);
    else if (length)
        st_text_addf(path, "%s%ssimtune_%s.h", place, place[length - 1] == '/' ? "" : "/", tmpl->family);
    else
        st_text_addf(path, "simtune_%s.h", tmpl->family);
}

static bool replaced(const st_choice *old, const st_choice *choices, size_t count, size_t axes)
{
    for (size_t i = 0; i < count; i++)
        if (choices[i].device_class.cc == old->device_class.cc &&
            choices[i].device_class.sm_count == old->device_class.sm_count &&
            memcmp(choices[i].problem.value, old->problem.value, axes * sizeof old->problem.value[0]) == 0)
            return true;
    return false;
}

// X.cu of X.h
static void source_path(const st_text *header, st_text *out)
{
    st_text_add_bytes(out, st_text_string(header), header->length > 2 ? header->length - 2 : 0);
    st_text_add(out, ".cu");
}

// The source first: a header without the source that belongs to it would not link.
static st_code write_files(const st_template *tmpl, const st_choice *choices, size_t count,
                           const st_emit_options *options, const st_text *path, bool *changed, st_error *error)
{
    st_text header, source, beside;
    bool source_changed = false;
    st_text_init(&header);
    st_text_init(&source);
    st_text_init(&beside);
    source_path(path, &beside);
    st_code code = st_emit_split(tmpl, choices, count, options, st_text_file_name(st_text_string(path)), &header,
                                 options->split ? &source : NULL, error);
    if (code == ST_OK && options->split)
        code = st_text_write_file(st_text_string(&beside), st_text_string(&source), source.length, &source_changed,
                                  error);
    if (code == ST_OK)
        code = st_text_write_file(st_text_string(path), st_text_string(&header), header.length, changed, error);
    if (code == ST_OK)
        *changed = *changed || source_changed;
    st_text_release(&header);
    st_text_release(&source);
    st_text_release(&beside);
    return code;
}

st_code st_header_publish(const st_template *tmpl, const st_choice *choices, size_t count,
                          const st_emit_options *options, const char *place, st_text *path, bool *changed,
                          st_error *error)
{
    st_choice *old = NULL;
    size_t old_count = 0, all_count = 0;
    header_path(tmpl, place, path);
    st_error why = {0};
    // Also where nothing of it is kept: a file that is not ours is not written over.
    st_code code = st_emit_read(tmpl, st_text_string(path), NULL, &old, &old_count, &why);
    if (code == ST_NOTHING || code == ST_STALE || (code == ST_OK && options->alone)) { // none, or of an older template
        code = ST_OK;
        old_count = 0;
    } else if (code != ST_OK && error)
        *error = why;
    st_choice *all = code == ST_OK ? st_calloc(count + old_count, sizeof *all) : NULL;
    if (code == ST_OK && !all)
        code = st_fail_memory(error, "writing a header");
    if (code == ST_OK) {
        memcpy(all, choices, count * sizeof *all);
        all_count = count;
        for (size_t i = 0; i < old_count; i++)
            if (!replaced(&old[i], choices, count, tmpl->axis_count))
                all[all_count++] = old[i];
        code = write_files(tmpl, all, all_count, options, path, changed, error);
    }
    st_free(all);
    st_free(old);
    return code;
}
