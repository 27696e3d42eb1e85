// SPDX-License-Identifier: Apache-2.0
// Loading programs of the emulated device, and what is known of their kernels.
//
//  1. A loaded program's memfd stays open until it is unloaded: the loader knows objects by their
//  path, and a
//     number that is used again would name the old one.
//  2. Static shared memory is what its thread-local symbols say: a symbol that is named inside
//  another
//     configuration's function is not counted to this kernel.
#include "tuner/base/memory.h"
#include "tuner/gpu/emu_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP "run `simtune doctor`; the folder /proc must be mounted"

static st_code write_all(int fd, const char *bytes, size_t length, st_error *error) {
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return st_fail(error, ST_FAILED, "free some memory",
                           "cannot hold an emulated program in memory: %s", strerror(errno));
        bytes += n;
        length -= (size_t)n;
    }
    return ST_OK;
}

static st_code open_image(st_gpu_module *module, const void *image, size_t bytes, st_error *error) {
    module->fd = memfd_create("simtune-emulated", MFD_CLOEXEC);
    if (module->fd < 0)
        return st_fail(error, ST_FAILED, NULL, "memfd_create: %s", strerror(errno));
    st_code code = write_all(module->fd, image, bytes, error);
    if (code)
        return code;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", module->fd);
    module->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module->handle)
        return st_fail(error, ST_FAILED, KEEP, "loading an emulated program: %s", dlerror());
    module->table = dlsym(module->handle, SIMTUNE_EMU_MODULE_SYMBOL);
    if (!module->table || module->table->abi != SIMTUNE_EMU_ABI)
        return st_fail(error, ST_FAILED, "empty the compile cache",
                       "an emulated program of another version of simtune");
    *module->table->runtime = st_emu_runtime();
    return ST_OK;
}

// --- facts from symbols ------------------------------------------------------------------------

typedef struct measure {
    st_gpu_module *module;
    uintptr_t base;     // where the object was loaded
    const char **names; // each kernel's symbol
    uint64_t *sizes;    // of its code
} measure;

// Bytes that a function's prologue takes from the stack: what it keeps in arrays, and what the host has no
// registers for. The first instructions are searched for the one that does it; 0 when there is none.
static unsigned frame_of(const void *function, uint64_t bytes) {
    const uint8_t *code = function;
    size_t most = bytes < 64 ? (size_t)bytes : 64;
#if defined(__x86_64__)
    for (size_t i = 0; i + 7 <= most; i++) { // sub $imm, %rsp
        int32_t wide;
        memcpy(&wide, code + i + 3, sizeof wide);
        if (code[i] == 0x48 && code[i + 1] == 0x83 && code[i + 2] == 0xec && code[i + 3] < 0x80)
            return code[i + 3];
        if (code[i] == 0x48 && code[i + 1] == 0x83 && code[i + 2] == 0xc4 && code[i + 3] == 0x80)
            return 128; // add $-128, which is shorter
        if (code[i] == 0x48 && code[i + 1] == 0x81 && code[i + 2] == 0xec && wide > 0)
            return (unsigned)wide;
    }
#elif defined(__aarch64__)
    for (size_t i = 0; i + 4 <= most; i += 4) {
        uint32_t word;
        memcpy(&word, code + i, sizeof word);
        if ((word & 0xffc003ffu) == 0xd10003ffu) // sub sp, sp, #imm
            return word >> 10 & 0xfffu;
        if ((word & 0xffc07fffu) == 0xa9807bfdu && (word >> 21 & 1u)) // stp x29, x30, [sp, #-n]!
            return (unsigned)(8 * (0x80 - (word >> 15 & 0x7fu)));
    }
#endif
    return 0;
}

// What __launch_bounds__ of cuda_on_cpu.h left behind: so many no-operations before the function, the first
// of which is in the program's list.
static void bounds_of(const struct simtune_emu_module *table, const void *function, unsigned *threads,
                      unsigned *blocks) {
    uintptr_t at = (uintptr_t)function, nearest = 0;
    for (void *const *mark = table->bounds; mark && mark < table->bounds_end; mark++)
        if ((uintptr_t)*mark < at && (uintptr_t)*mark > nearest)
            nearest = (uintptr_t)*mark;
    uintptr_t code = nearest ? (at - nearest) / SIMTUNE_EMU_NOP_BYTES : 0;
    *threads = *blocks = 0;
    if (code == 0 || code > 32 * SIMTUNE_EMU_BOUNDS_BLOCKS)
        return;
    *threads = 32 * (unsigned)((code - 1) / SIMTUNE_EMU_BOUNDS_BLOCKS + 1);
    *blocks = (unsigned)((code - 1) % SIMTUNE_EMU_BOUNDS_BLOCKS);
}

static bool find_kernels(void *context, const st_elf_symbol *symbol) {
    measure *m = context;
    if (!symbol->is_function || symbol->is_undefined)
        return true;
    for (unsigned k = 0; k < m->module->table->kernel_count; k++)
        if ((uintptr_t)m->module->table->kernels[k].function == m->base + symbol->value) {
            m->names[k] = symbol->name;
            m->sizes[k] = symbol->size;
        }
    return true;
}

// The template arguments of a mangled name: from its first 'I' after the name to the end of the
// list; compared as text only. Empty when it is no template.
static void arguments_of(const char *mangled, char *out, size_t capacity) {
    out[0] = 0;
    const char *from = mangled ? strchr(mangled, 'I') : NULL;
    const char *to = from ? strstr(from, "Ev") : NULL;
    if (!to || (size_t)(to - from) >= capacity)
        return;
    memcpy(out, from, (size_t)(to - from));
    out[to - from] = 0;
}

// A variable of a function that several kernels may call counts for all of them in a program of one
// configuration; in one of many, where it would be counted many times, for none.
enum { KERNELS_OF_ONE = 4 };

static bool count_shared(void *context, const st_elf_symbol *symbol) {
    measure *m = context;
    if (!symbol->is_tls || symbol->is_undefined || symbol->size == 0)
        return true;
    unsigned count = m->module->table->kernel_count;
    char arguments[512];
    bool claimed = false;
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned k = 0; k < count; k++) {
            // "_ZZ" FUNCTION "E" NAME: the function is the kernel itself, or has its arguments.
            arguments_of(m->names[k], arguments, sizeof arguments);
            bool own = m->names[k] && strstr(symbol->name, m->names[k] + 2);
            bool like = arguments[0] && strstr(symbol->name, arguments);
            if (pass == 0)
                claimed = claimed || own || like;
            else if (own || like || (!claimed && count <= KERNELS_OF_ONE))
                m->module->kernels[k].facts.static_smem += (int)symbol->size;
        }
    return true;
}

// "_ZZN7simtune12reduce_blockI…E5warps" to "warps"; a plain name stays.
static void last_name(const char *symbol, char *out, size_t capacity) {
    size_t length = strlen(symbol);
    const char *from = symbol;
    for (const char *at = symbol; *at; at++) {
        if (*at < '0' || *at > '9' || (at > symbol && at[-1] >= '0' && at[-1] <= '9'))
            continue;
        size_t digits = strspn(at, "0123456789");
        unsigned long wanted = strtoul(at, NULL, 10);
        const char *name = at + digits;
        // The name runs to the end, or to what tells equal names apart ("_0").
        if (wanted <= strlen(name) && (name[wanted] == 0 || name[wanted] == '_'))
            from = name, length = wanted;
    }
    snprintf(out, capacity, "%.*s", (int)length, from);
}

static bool add_variable(void *context, const st_elf_symbol *symbol) {
    st_gpu_module *module = context;
    if (!symbol->is_tls || symbol->is_undefined || symbol->size == 0 ||
        symbol->value + symbol->size > module->shared_static ||
        module->shared_variable_count == UINT16_MAX)
        return true;
    size_t capacity = module->shared_variable_capacity;
    st_emu_variable *more = st_grow(module->shared_variables, &capacity,
                                    module->shared_variable_count + 1, sizeof *more);
    if (!more) {
        module->shared_variable_count = SIZE_MAX;
        return false;
    }
    module->shared_variables = more;
    module->shared_variable_capacity = capacity;
    st_emu_variable *made = &more[module->shared_variable_count++];
    made->offset = symbol->value;
    made->bytes = symbol->size;
    last_name(symbol->name, made->name, sizeof made->name);
    return true;
}

// Which variable each byte of static shared memory belongs to.
static st_code name_shared(st_gpu_module *module, const void *image, size_t bytes,
                           st_error *error) {
    st_code code = st_elf_symbols(image, bytes, add_variable, module, error);
    if (code || module->shared_static == 0)
        return code;
    bool failed = module->shared_variable_count == SIZE_MAX;
    if (failed)
        module->shared_variable_count = 0;
    module->shared_owner = failed ? NULL : st_calloc(module->shared_static, sizeof(uint16_t));
    if (!module->shared_owner)
        return st_fail_memory(error, "loading an emulated program");
    for (size_t v = 0; v < module->shared_variable_count; v++)
        for (size_t i = 0; i < module->shared_variables[v].bytes; i++)
            module->shared_owner[module->shared_variables[v].offset + i] = (uint16_t)(v + 1);
    return ST_OK;
}

static void measure_kernel(struct st_gpu_kernel *of, uint64_t code_bytes, const st_device_facts *device) {
    enum { FRAME_OF_ALL = 24 }; // what every frame holds besides
    const struct simtune_emu_module *table = of->module->table;
    unsigned frame = frame_of(of->kernel->function, code_bytes), threads, blocks;
    unsigned arrays = frame > FRAME_OF_ALL ? frame - FRAME_OF_ALL : 0;
    // Half of checked code is calls of the checker.
    int registers = st_emu_model_registers(table->checked ? code_bytes / 2 : code_bytes, arrays);
    bounds_of(table, of->kernel->function, &threads, &blocks);
    of->held = arrays;
    registers = st_emu_model_bounded(device, registers, threads, blocks, &of->facts.local_bytes);
    of->facts.registers = registers;
    of->facts.max_threads = threads ? (int)threads : (int)device->max_threads_per_block;
    of->facts.binary_version = (int)device->cc;
}

static st_code measure_kernels(st_gpu_module *module, const void *image, size_t bytes,
                               const st_device_facts *device, st_error *error) {
    unsigned count = module->table->kernel_count;
    Dl_info info;
    measure m = {.module = module,
                 .names = st_calloc(count + 1, sizeof(char *)),
                 .sizes = st_calloc(count + 1, sizeof(uint64_t))};
    module->kernels = st_calloc(count + 1, sizeof *module->kernels);
    st_code code = ST_OK;
    if (!m.names || !m.sizes || !module->kernels) {
        code = st_fail_memory(error, "loading an emulated program");
        goto out;
    }
    if (dladdr(module->table, &info))
        m.base = (uintptr_t)info.dli_fbase;
    if ((code = st_elf_symbols(image, bytes, find_kernels, &m, error)))
        goto out;
    module->base = m.base;
    for (unsigned k = 0; k < count; k++) {
        module->kernels[k].kernel = &module->table->kernels[k];
        module->kernels[k].module = module;
        measure_kernel(&module->kernels[k], m.sizes[k], device);
    }
    code = st_elf_symbols(image, bytes, count_shared, &m, error);
    if (!code && module->table->checked)
        code = name_shared(module, image, bytes, error);
out:
    st_free(m.names);
    st_free(m.sizes);
    return code;
}

st_code st_emu_module_load(const void *image, size_t bytes, const st_device_facts *device,
                           st_gpu_module **out, st_error *error) {
    st_gpu_module *module = st_calloc(1, sizeof *module);
    if (!module)
        return st_fail_memory(error, "loading an emulated program");
    module->fd = -1;
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)image + i, sizeof word);
        module->hash = st_emu_mix(module->hash, word);
    }
    st_code code = st_elf_tls(image, bytes, &module->shared_static, &module->shared_align, error);
    if (!code)
        code = open_image(module, image, bytes, error);
    if (!code)
        code = measure_kernels(module, image, bytes, device, error);
    if (code) {
        st_emu_module_unload(module);
        return code;
    }
    *out = module;
    return ST_OK;
}

void st_emu_module_unload(st_gpu_module *module) {
    if (!module)
        return;
    if (module->handle)
        dlclose(module->handle);
    if (module->fd >= 0)
        close(module->fd);
    st_free(module->kernels);
    st_free(module->shared_owner);
    st_free(module->shared_variables);
    st_free(module);
}
