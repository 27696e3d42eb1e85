// SPDX-License-Identifier: Apache-2.0
// `simtune devices`: the GPUs of this machine, with what was measured of their memory when the store
// knows it. Opens the driver but no context, and the store only for reading.
#include "tuner/cli/cli_answers.h"

#include "tuner/base/json.h"
#include "tuner/base/memory.h"
#include "tuner/gpu/gpu.h"

#include <math.h>
#include <string.h>

// --- what was measured --------------------------------------------------------------------------------
typedef struct speeds {
    const char *uuid;      // asked for
    double read, copy;     // GB/s, NaN unknown
} speeds;

static st_code take_speeds(void *context, const st_device_row *row, st_error *error)
{
    (void)error;
    speeds *wanted = context;
    if (strcmp(row->uuid, wanted->uuid) == 0) {
        wanted->read = row->read_gbs;
        wanted->copy = row->copy_gbs;
    }
    return ST_OK;
}

// A store that is not there, or cannot be read, costs the speeds and no more.
static speeds find_speeds(st_store *store, const char *uuid)
{
    speeds found = {uuid, NAN, NAN};
    if (store && st_store_devices(store, take_speeds, &found, NULL) != ST_OK)
        found.read = found.copy = NAN;
    return found;
}

// --- for people ---------------------------------------------------------------------------------------
static void add_bytes(st_text *text, const char *label, int64_t bytes)
{
    if (bytes < 0)
        st_text_addf(text, " · %s unknown", label);
    else if (bytes < (int64_t)1 << 30)
        st_text_addf(text, " · %s %.4g MiB", label, (double)bytes / (1 << 20));
    else
        st_text_addf(text, " · %s %.1f GiB", label, (double)bytes / (1 << 30));
}

static void print_device(const st_device_facts *facts, const speeds *measured, st_text *text)
{
    st_text_addf(text, "%d  %s%s\n", facts->ordinal, facts->name,
                 facts->is_mig ? "  (MIG instance)" : "");
    st_text_addf(text, "   sm_%d · %d SMs", (int)facts->cc, (int)facts->sm_count);
    add_bytes(text, "L2", facts->l2_bytes);
    add_bytes(text, "memory", facts->memory_bytes);
    st_text_add(text, facts->ecc ? " (ECC)\n" : "\n");
    if (isnan(measured->read) && isnan(measured->copy)) {
        st_text_add(text, "   memory speed not measured yet: a tuning run measures it\n");
    } else {
        st_text_add(text, "   memory speed, measured:");
        if (!isnan(measured->read))
            st_text_addf(text, " read %.0f GB/s", measured->read);
        if (!isnan(measured->copy))
            st_text_addf(text, "%s copy %.0f GB/s",
                         isnan(measured->read) ? "" : ",", measured->copy);
        st_text_add(text, "\n");
    }
    st_text_addf(text, "   %s · PCI %s · driver %s (CUDA %d.%d)\n", facts->uuid,
                 facts->pci[0] ? facts->pci : "unknown", facts->driver[0] ? facts->driver : "unknown",
                 facts->driver_cuda / 1000, facts->driver_cuda % 1000 / 10);
}

// --- for programs ---------------------------------------------------------------------------------------
static json_t *device_json(const st_device_facts *facts, const speeds *measured)
{
    char arch[16];
    snprintf(arch, sizeof arch, "sm_%d", (int)facts->cc);
    json_t *object = json_object();
    int failed = !object;
    failed |= json_object_set_new(object, "ordinal", json_integer(facts->ordinal));
    failed |= json_object_set_new(object, "name", json_string(facts->name));
    failed |= json_object_set_new(object, "arch", json_string(arch));
    failed |= json_object_set_new(object, "uuid", json_string(facts->uuid));
    failed |= json_object_set_new(object, "pci", st_json_text_or_null(facts->pci));
    failed |= json_object_set_new(object, "backend", json_string(facts->backend));
    failed |= json_object_set_new(object, "driver", st_json_text_or_null(facts->driver));
    failed |= json_object_set_new(object, "driver_cuda", st_json_known_or_null(facts->driver_cuda));
    failed |= json_object_set_new(object, "mig", json_boolean(facts->is_mig));
    failed |= json_object_set_new(object, "integrated", json_boolean(facts->is_integrated));
    failed |= json_object_set_new(object, "ecc", json_boolean(facts->ecc));
#define X(field, name, unit, meaning)                                                              \
    failed |= json_object_set_new(object, #field, st_json_known_or_null(facts->field));
    ST_DEVICE_FACTS(X)
#undef X
    failed |= json_object_set_new(object, "measured_read_bytes_per_second",
                                  st_json_number(measured->read * 1e9));
    failed |= json_object_set_new(object, "measured_copy_bytes_per_second",
                                  st_json_number(measured->copy * 1e9));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

// --- all ------------------------------------------------------------------------------------------------
static st_code list_device(st_cli *cli, st_store *store, int ordinal, json_t *list, st_text *text,
                           st_error *error)
{
    st_device_facts facts;
    st_code code = st_gpu_backend("cuda")->facts(ordinal, &facts, error);
    if (code != ST_OK)
        return code;
    speeds measured = find_speeds(store, facts.uuid);
    if (!cli->json) {
        print_device(&facts, &measured, text);
        return ST_OK;
    }
    json_t *object = device_json(&facts, &measured);
    if (!object || json_array_append_new(list, object) != 0)
        return st_fail_memory(error, "listing the devices");
    return ST_OK;
}

// One device that cannot be read does not hide the others: the last such error is returned, those
// before it are said here.
static st_code list_devices(st_cli *cli, int count, json_t *list, st_text *text, st_error *error)
{
    st_store *store = NULL;
    if (count > 0 && st_cli_store(cli, ST_STORE_READ, &store, NULL) != ST_OK)
        store = NULL;
    st_code worst = ST_OK;
    for (int i = 0; i < count && worst != ST_NO_MEMORY; i++) {
        st_error own;
        st_error_clear(&own);
        st_code code = list_device(cli, store, i, list, text, &own);
        if (code == ST_OK)
            continue;
        if (worst != ST_OK)
            st_cli_say(cli, error);
        worst = st_fail(error, code, own.remedy, "%s", own.what);
    }
    st_store_close(store);
    return worst;
}

st_code st_cmd_devices(st_cli *cli, st_error *error)
{
    if (cli->parsed->word_count > 0)
        return st_fail(error, ST_USAGE, "see `simtune devices --help`", "devices takes no %s",
                       cli->parsed->words[0]);
    int count = 0;
    st_text text;
    st_text_init(&text);
    json_t *list = json_array();
    st_code code = list ? ST_OK : st_fail_memory(error, "listing the devices");
    if (code == ST_OK)
        code = st_gpu_backend("cuda")->count(&count, error);
    // A GPU that is there but unusable is "nothing valid" as well; the error has doctor's finding.
    if (code == ST_FAILED)
        code = st_fail(error, ST_NOTHING, error->remedy[0] ? error->remedy : "see `simtune doctor`",
                       "%s", error->what);
    if (code == ST_OK)
        code = list_devices(cli, count, list, &text, error);
    st_error own = {0};
    st_code printed = ST_OK;
    if (cli->json && list)
        printed = st_cli_print_json(cli, json_pack("{s:s,s:O}", "schema", "simtune.devices/1", "devices", list), &own);
    json_decref(list);
    if (text.failed)
        printed = st_fail_memory(&own, "listing the devices");
    if (printed == ST_OK)
        st_cli_print(cli, cli->out, st_text_string(&text));
    else if (error)
        *error = own;
    st_text_release(&text);
    return printed != ST_OK ? printed : code;
}
