// SPDX-License-Identifier: Apache-2.0
#include "tuner/base/library.h"

#include "tuner/base/memory.h"
#include "tuner/base/text.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

st_code st_library_open(st_library *library, const char *const *names, const char *remedy,
                        st_error *error)
{
    *library = (st_library){0};
    st_text tried;
    st_text_init(&tried);
    for (size_t i = 0; names[i] && !library->handle; i++) {
        library->handle = st_fault_here(ST_FAULT_SYSTEM) ? NULL : dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library->handle) {
            struct link_map *map = NULL;
            bool known = dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0];
            snprintf(library->path, sizeof library->path, "%s", known ? map->l_name : names[i]);
        } else {
            const char *why = dlerror();
            st_text_addf(&tried, "%s%s", i ? "; " : "", why ? why : names[i]);
        }
    }
    st_code code = ST_OK;
    if (!library->handle)
        code = st_fail(error, ST_NOTHING, remedy, "%s cannot be opened (%s)", names[0],
                       st_text_string(&tried));
    st_text_release(&tried);
    return code;
}

void st_library_close(st_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    *library = (st_library){0};
}

st_code st_library_load(const st_library *library, const st_symbol *symbols, size_t count,
                        const char *remedy, st_error *error)
{
    for (size_t i = 0; i < count; i++) {
        *symbols[i].place = library->handle ? dlsym(library->handle, symbols[i].name) : NULL;
        if (!*symbols[i].place && symbols[i].required)
            return st_fail(error, ST_FAILED, remedy, "%s has no %s: it is too old", library->path,
                           symbols[i].name);
    }
    return ST_OK;
}
