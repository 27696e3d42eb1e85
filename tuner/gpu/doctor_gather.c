// SPDX-License-Identifier: Apache-2.0
// Reading this machine for doctor. Invariants: 1. nothing found is an error here, it is a fact; 2.
// no context is made; 3. nothing is left behind but folders that a tuning run would make as well.
#include "tuner/gpu/doctor.h"

#include "tuner/base/paths.h"
#include "tuner/gpu/compile.h"
#include "tuner/gpu/device_lock.h"
#include "tuner/gpu/driver_api.h"
#include "tuner/gpu/gpu.h"
#include "tuner/gpu/nvml.h"
#include "tuner/gpu/nvrtc_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void gather_devices(st_doctor_facts *facts)
{
    const st_gpu_operations *cuda = st_gpu_backend("cuda");
    int count = 0;
    facts->device_count = 0;
    if (cuda->count(&count, NULL) != ST_OK)
        return;
    facts->device_count = count < ST_DOCTOR_DEVICES ? count : ST_DOCTOR_DEVICES;
    const st_nvml *nvml = st_nvml_get(NULL);
    for (int i = 0; i < facts->device_count; i++) {
        st_doctor_device *device = &facts->devices[i];
        st_error error;
        st_error_clear(&error);
        device->readable = cuda->facts(i, &device->facts, &error) == ST_OK;
        snprintf(device->error, sizeof device->error, "%.*s", (int)sizeof device->error - 1,
                 error.what);
        device->virtualization = device->mig_mode = -1;
        st_nvml_device handle;
        unsigned mode = 0, pending = 0;
        int virtualization = -1;
        if (!nvml || !device->readable ||
            ST_NVML_CALL(nvml, by_uuid, device->facts.uuid, &handle) != ST_NVML_SUCCESS)
            continue;
        if (ST_NVML_CALL(nvml, mig_mode, handle, &mode, &pending) == ST_NVML_SUCCESS)
            device->mig_mode = (int)mode;
        if (ST_NVML_CALL(nvml, virtualization, handle, &virtualization) == ST_NVML_SUCCESS)
            device->virtualization = virtualization;
    }
}

static void gather_nvrtc(st_doctor_facts *facts)
{
    st_error error;
    st_error_clear(&error);
    size_t count = 0;
    facts->nvrtc_found = st_nvrtc_version(facts->driver.version, facts->nvrtc_version,
                                          facts->nvrtc_archs, &count, ST_DOCTOR_ARCHS,
                                          &error) == ST_OK;
    facts->nvrtc_arch_count = facts->nvrtc_found ? (int)count : 0;
    const st_nvrtc *nvrtc = NULL;
    if (facts->nvrtc_found && st_nvrtc_open(facts->driver.version, &nvrtc, NULL) == ST_OK)
        memcpy(facts->nvrtc_path, nvrtc->library.path, sizeof facts->nvrtc_path);
    snprintf(facts->nvrtc_error, sizeof facts->nvrtc_error, "%.*s",
             (int)sizeof facts->nvrtc_error - 1, error.what);
    memcpy(facts->nvrtc_remedy, error.remedy, sizeof facts->nvrtc_remedy);
}

static void gather_nvml(st_doctor_facts *facts)
{
    st_error error;
    st_error_clear(&error);
    const st_nvml *nvml = st_nvml_get(&error);
    facts->nvml_found = nvml != NULL;
    snprintf(facts->nvml_error, sizeof facts->nvml_error, "%.*s", (int)sizeof facts->nvml_error - 1,
             error.what);
    if (!nvml)
        return;
    memcpy(facts->nvml_path, nvml->library.path, sizeof facts->nvml_path);
    if (ST_NVML_CALL(nvml, nvml_version, facts->nvml_version, sizeof facts->nvml_version) !=
        ST_NVML_SUCCESS)
        facts->nvml_version[0] = '\0';
    st_nvml_driver_version(facts->nvml_driver);
}

static void gather_folder(st_folder_facts *folder, st_code (*find)(st_text *, st_error *),
                          st_code (*make)(const char *, st_error *))
{
    st_text path;
    st_text_init(&path);
    st_error error;
    st_error_clear(&error);
    st_code code = find(&path, &error);
    snprintf(folder->path, sizeof folder->path, "%s", st_text_string(&path));
    if (code == ST_OK)
        code = make(st_text_string(&path), &error);
    if (code != ST_OK)
        snprintf(folder->error, sizeof folder->error, "%.*s", (int)sizeof folder->error - 1,
                 error.what);
    else if (access(st_text_string(&path), W_OK | X_OK) != 0)
        snprintf(folder->error, sizeof folder->error, "%s", strerror(errno));
    else
        folder->usable = true;
    st_text_release(&path);
}

void st_doctor_gather(st_doctor_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    st_machine_read(st_machine_root, &facts->machine);
    st_driver_get(NULL);
    st_driver_probed(&facts->driver);
    gather_devices(facts);
    gather_nvrtc(facts);
    gather_nvml(facts);
    gather_folder(&facts->cache, st_paths_cache, st_text_make_folder);
    gather_folder(&facts->runtime, st_paths_runtime, st_device_lock_make_folder);
}
