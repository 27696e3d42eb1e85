// SPDX-License-Identifier: Apache-2.0
// Programs that stay loaded. Invariants: 1. a module with users is never unloaded; 2. at most MODULES_MOST
// are kept, the longest unused goes first.
#include "tuner/base/memory.h"
#include "tuner/worker/worker_internal.h"

enum { MODULES_MOST = 600 };

static wk_module *find(st_worker *worker, int64_t key)
{
    for (size_t i = 0; i < worker->module_count; i++)
        if (worker->modules[i].key == key)
            return &worker->modules[i];
    return NULL;
}

static void make_room(st_worker *worker)
{
    if (worker->module_count < MODULES_MOST)
        return;
    size_t oldest = worker->module_count;
    for (size_t i = 0; i < worker->module_count; i++)
        if (!worker->modules[i].users &&
            (oldest == worker->module_count || worker->modules[i].last_use < worker->modules[oldest].last_use))
            oldest = i;
    if (oldest == worker->module_count)
        return;
    worker->ops->unload(worker->gpu, worker->modules[oldest].module);
    worker->modules[oldest] = worker->modules[--worker->module_count];
}

st_code wk_module_take(st_worker *worker, int64_t key, const void *image, size_t bytes, st_gpu_module **out,
                       bool *absent, st_error *error)
{
    wk_module *known = key ? find(worker, key) : NULL;
    *absent = false;
    if (known) {
        known->users++;
        known->last_use = ++worker->module_clock;
        *out = known->module;
        return ST_OK;
    }
    if (!bytes) {
        *absent = true;
        return ST_OK;
    }
    if (key) {
        make_room(worker);
        wk_module *all =
            st_grow(worker->modules, &worker->module_capacity, worker->module_count + 1, sizeof *all);
        if (!all)
            return st_fail_memory(error, "loading a module");
        worker->modules = all;
    }
    st_code code = worker->ops->load(worker->gpu, image, bytes, out, error);
    if (code == ST_OK && key)
        worker->modules[worker->module_count++] =
            (wk_module){.key = key, .module = *out, .users = 1, .last_use = ++worker->module_clock};
    return code;
}

void wk_module_return(st_worker *worker, int64_t key, st_gpu_module *module)
{
    wk_module *known = key ? find(worker, key) : NULL;
    if (known)
        known->users--;
    else
        worker->ops->unload(worker->gpu, module);
}

void wk_modules_release(st_worker *worker)
{
    for (size_t i = 0; i < worker->module_count; i++)
        worker->ops->unload(worker->gpu, worker->modules[i].module);
    st_free(worker->modules);
    worker->modules = NULL;
    worker->module_count = worker->module_capacity = 0;
}
