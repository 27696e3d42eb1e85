// SPDX-License-Identifier: Apache-2.0
// What all host functions of a header share and no template decides: device facts kept by ordinal, the launch, and the
// way of a call from its arguments to the steps. Printed into the header's namespace `host`, around the plan
// (emit_plan.c) and its steps (emit_steps.c). Nothing there allocates, synchronises or keeps state but facts of devices
// that never change.
#include "tuner/emit_internal.h"

#include <string.h>

// --- what all functions share: printed with $ for the base name ----------------------------------

// clang-format off
static const char common_text[] =
    "// A number that threads share. <atomic> does the same, and is slow to compile.\n"
    "template <class T> struct shared {\n"
    "#if defined(__GNUC__)\n"
    "    T value;\n"
    "    T load() const { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }\n"
    "    void store(T number) { __atomic_store_n(&value, number, __ATOMIC_RELEASE); }\n"
    "    void add_bits(T bits) { __atomic_fetch_or(&value, bits, __ATOMIC_ACQ_REL); }\n"
    "#else\n"
    "    std::atomic<T> value;\n"
    "    T load() const { return value.load(std::memory_order_acquire); }\n"
    "    void store(T number) { value.store(number, std::memory_order_release); }\n"
    "    void add_bits(T bits) { value.fetch_or(bits, std::memory_order_acq_rel); }\n"
    "#endif\n"
    "};\n"
    "\n"
    "// What was asked of a device is kept by ordinal: facts that never change, each thread stores the same.\n"
    "template <class Unused> struct cache {\n"
    "    static shared<int> ready[64], code_cc[64];\n"
    "    static shared<long long> fact[64][FACTS];\n"
    "};\n"
    "template <class Unused> shared<int> cache<Unused>::ready[64];\n"
    "template <class Unused> shared<int> cache<Unused>::code_cc[64];\n"
    "template <class Unused> shared<long long> cache<Unused>::fact[64][FACTS];\n"
    "\n"
    "inline cudaError_t ask(cudaDeviceAttr attribute, int ordinal, long long *value)\n"
    "{\n"
    "    int number = 0;\n"
    "    const cudaError_t error = cudaDeviceGetAttribute(&number, attribute, ordinal);\n"
    "    *value = number;\n"
    "    return error;\n"
    "}\n"
    "\n"
    "template <class Unused>\n"
    "inline cudaError_t ask_device(int ordinal, $_facts *facts)\n"
    "{\n"
    "    long long major = 0, minor = 0;\n"
    "    cudaError_t error = ask(cudaDevAttrComputeCapabilityMajor, ordinal, &major);\n"
    "    if (error == cudaSuccess)\n"
    "        error = ask(cudaDevAttrComputeCapabilityMinor, ordinal, &minor);\n"
    "    facts->cc = facts->code_cc = major * 10 + minor;\n"
    "    facts->complete = 1;\n"
    "ASK"
    "    return error;\n"
    "}\n"
    "\n"
    "template <class Unused>\n"
    "inline cudaError_t device_facts(int ordinal, $_facts *facts)\n"
    "{\n"
    "    typedef cache<Unused> kept;\n"
    "    if (ordinal < 0 || ordinal >= 64 || !kept::ready[ordinal].load()) {\n"
    "        const cudaError_t error = ask_device<Unused>(ordinal, facts);\n"
    "        if (error != cudaSuccess || ordinal < 0 || ordinal >= 64)\n"
    "            return error;\n"
    "STORE"
    "        kept::ready[ordinal].store(1);\n"
    "        return cudaSuccess;\n"
    "    }\n"
    "    facts->complete = 1;\n"
    "LOAD"
    "    facts->code_cc = facts->cc;\n"
    "    return cudaSuccess;\n"
    "}\n"
    "\n"
    "// Tells what the loaded code was compiled for: code for an older architecture runs on a newer one, without\n"
    "// what only the newer has.\n"
    "template <class Unused> __global__ void probe() {}\n"
    "\n"
    "template <class Unused>\n"
    "inline cudaError_t current_device(int *ordinal, $_facts *facts)\n"
    "{\n"
    "    typedef cache<Unused> kept;\n"
    "    cudaError_t error = cudaGetDevice(ordinal);\n"
    "    if (error == cudaSuccess)\n"
    "        error = device_facts<Unused>(*ordinal, facts);\n"
    "    if (error != cudaSuccess)\n"
    "        return error;\n"
    "    const bool keep = *ordinal >= 0 && *ordinal < 64;\n"
    "    int code = keep ? kept::code_cc[*ordinal].load() : 0;\n"
    "    if (code == 0) {\n"
    "        cudaFuncAttributes attributes;\n"
    "        void (*kernel)() = probe<Unused>;\n"
    "        error = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(kernel));\n"
    "        if (error != cudaSuccess)\n"
    "            return error;\n"
    "        code = attributes.ptxVersion;\n"
    "        if (keep)\n"
    "            kept::code_cc[*ordinal].store(code);\n"
    "    }\n"
    "    if (code < facts->cc)\n"
    "        facts->code_cc = code;\n"
    "    return cudaSuccess;\n"
    "}\n"
    "\n"
    "// Architectures that this file is compiled for (cc * 10); without the macro, the device's own.\n"
    "template <class Unused>\n"
    "inline int code_archs(long long cc, int *archs, int capacity)\n"
    "{\n"
    "#ifdef __CUDA_ARCH_LIST__\n"
    "    static const int listed[] = {__CUDA_ARCH_LIST__};\n"
    "    int count = 0;\n"
    "    for (unsigned i = 0; i < sizeof listed / sizeof listed[0]; i++)\n"
    "        if (listed[i] / 10 <= cc && count < capacity)\n"
    "            archs[count++] = listed[i] / 10;\n"
    "    return count;\n"
    "#else\n"
    "    archs[0] = (int)cc;\n"
    "    return capacity > 0;\n"
    "#endif\n"
    "}\n"
    "\n"
    "// A buffer of the temporary storage, aligned to 256 bytes. Sizes beyond half of the address space become\n"
    "// that, which no storage has.\n"
    "inline size_t reserve(size_t *bytes, long long count, size_t element)\n"
    "{\n"
    "    const size_t most = ~(size_t)0 >> 1, at = (*bytes + 255) & ~(size_t)255;\n"
    "    const size_t wanted = count > 0 ? (size_t)count : 0;\n"
    "    *bytes = at > most || wanted > (most - at) / element ? most + 1 : at + wanted * element;\n"
    "    return at;\n"
    "}\n"
    "\n"
    "inline long long alignment_of(const void *pointer)\n"
    "{\n"
    "    const size_t address = reinterpret_cast<size_t>(pointer) | 256;\n"
    "    return (long long)(address & (~address + 1));\n"
    "}\n"
    "\n"
    "struct shape {\n"
    "    long long grid[3], block[3], shared, cluster, dependent;\n"
    "};\n"
    "\n"
    "// Once a device and kernel: as much shared memory as a block may have, clusters beyond 8 blocks. The same\n"
    "// values from every thread, so that none takes away what another has set.\n"
    "inline cudaError_t prepare(const void *kernel, const $_facts &facts, int ordinal,\n"
    "                           shared<unsigned long long> *done)\n"
    "{\n"
    "    const unsigned long long bit = ordinal >= 0 && ordinal < 64 ? 1ull << ordinal : 0;\n"
    "    if (done->load() & bit)\n"
    "        return cudaSuccess;\n"
    "    cudaFuncAttributes attributes;\n"
    "    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);\n"
    "    const int most = (int)facts.smem_per_block - (int)attributes.sharedSizeBytes;\n"
    "    if (error == cudaSuccess && most > attributes.maxDynamicSharedSizeBytes)\n"
    "        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);\n"
    "    if (error == cudaSuccess && facts.code_cc >= 90)\n"
    "        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);\n"
    "    if (error == cudaSuccess)\n"
    "        done->add_bits(bit);\n"
    "    return error;\n"
    "}\n"
    "\n"
    "// What a step is given.\n"
    "struct call {\n"
    "    const $_facts *facts;\n"
    "    int ordinal;\n"
    "    char *base;                 // of the temporary storage\n"
    "    const void *const *buffers; // of the caller, b_NAME\n"
    "    const void *const *scalars; // where they are, s_NAME\n"
    "    cudaStream_t stream;\n"
    "};\n"
    "\n"
    "template <class T> struct same {\n"
    "    typedef T type;\n"
    "};\n"
    "\n"
    "// An empty grid is no launch: there is nothing to do.\n"
    "template <class... A>\n"
    "inline cudaError_t launch(void (*kernel)(A...), const call &it, shared<unsigned long long> *prepared,\n"
    "                          const shape &form, typename same<A>::type... arguments)\n"
    "{\n"
    "    const $_facts &facts = *it.facts;\n"
    "    const void *const function = reinterpret_cast<const void *>(kernel);\n"
    "    for (int i = 0; i < 3; i++) {\n"
    "        if (form.grid[i] == 0)\n"
    "            return cudaSuccess;\n"
    "        if (form.grid[i] < 0 || form.grid[i] > 2147483647 || form.block[i] < 1 || form.block[i] > 1024)\n"
    "            return cudaErrorInvalidConfiguration;\n"
    "    }\n"
    "    if (form.shared < 0 || form.shared > facts.smem_per_block || form.cluster < 1 ||\n"
    "        form.cluster > 1024 || (form.cluster > 1 && facts.code_cc < 90))\n"
    "        return cudaErrorInvalidConfiguration;\n"
    "    if (prepared && (form.shared > 0 || form.cluster > 8)) {\n"
    "        const cudaError_t error = prepare(function, facts, it.ordinal, prepared);\n"
    "        if (error != cudaSuccess)\n"
    "            return error;\n"
    "    }\n"
    "    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};\n"
    "    const dim3 grid((unsigned)form.grid[0], (unsigned)form.grid[1], (unsigned)form.grid[2]);\n"
    "    const dim3 block((unsigned)form.block[0], (unsigned)form.block[1], (unsigned)form.block[2]);\n"
    "    const bool dependent = form.dependent != 0 && facts.code_cc >= 90;\n"
    "    if (form.cluster == 1 && !dependent)\n"
    "        return cudaLaunchKernel(function, grid, block, pointers, (size_t)form.shared, it.stream);\n"
    "    cudaLaunchAttribute attributes[2];\n"
    "    cudaLaunchConfig_t config = cudaLaunchConfig_t();\n"
    "    config.gridDim = grid;\n"
    "    config.blockDim = block;\n"
    "    config.dynamicSmemBytes = (size_t)form.shared;\n"
    "    config.stream = it.stream;\n"
    "    config.attrs = attributes;\n"
    "    if (form.cluster > 1) {\n"
    "        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;\n"
    "        attributes[config.numAttrs].val.clusterDim.x = (unsigned)form.cluster;\n"
    "        attributes[config.numAttrs].val.clusterDim.y = 1;\n"
    "        attributes[config.numAttrs].val.clusterDim.z = 1;\n"
    "        config.numAttrs++;\n"
    "    }\n"
    "    if (dependent) {\n"
    "        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;\n"
    "        attributes[config.numAttrs].val.programmaticStreamSerializationAllowed = 1;\n"
    "        config.numAttrs++;\n"
    "    }\n"
    "    return cudaLaunchKernelExC(&config, function, pointers);\n"
    "}\n"
    "\n";

// Behind the plan and its steps.
static const char call_text[] =
    "typedef cudaError_t run_function(const call &, const plan &);\n"
    "\n"
    "inline void raise_to_storage(size_t *most, const $_table *table, const $_facts &facts, const long long *sizes,\n"
    "                             long long alignment)\n"
    "{\n"
    "    int exact = 0;\n"
    "    const int row = $_choose(table, &facts, sizes, &exact);\n"
    "    if (row < 0)\n"
    "        return;\n"
    "    plan p = plan();\n"
    "    make_plan(&table->rows[row], &facts, sizes, nullptr, alignment, &p);\n"
    "    if (p.bytes > *most)\n"
    "        *most = p.bytes;\n"
    "}\n"
    "\n"
    "// Enough for these sizesSMALLER on every device of the process.\n"
    "template <class Unused>\n"
    "inline cudaError_t storage(const $_table *table, const long long *sizes, size_t *temp_bytes)\n"
    "{\n"
    "    int count = 0;\n"
    "    size_t most = 1;\n"
    "    cudaError_t error = cudaGetDeviceCount(&count);\n"
    "    for (int ordinal = 0; error == cudaSuccess && ordinal < count; ordinal++) {\n"
    "        $_facts facts;\n"
    "        int archs[32];\n"
    "        error = device_facts<Unused>(ordinal, &facts);\n"
    "        if (error != cudaSuccess)\n"
    "            break;\n"
    "        const int arch_count = code_archs<Unused>(facts.cc, archs, 32);\n"
    "        for (int i = 0; i < arch_count; i++) {\n"
    "            facts.code_cc = archs[i];\n"
    "            for (long long alignment = WEAKEST; alignment <= 256; alignment *= 2) {\n"
    "                raise_to_storage(&most, table, facts, sizes, alignment);\n"
    "BOUNDARIES"
    "            }\n"
    "        }\n"
    "    }\n"
    "    if (error == cudaSuccess)\n"
    "        *temp_bytes = most;\n"
    "    return error;\n"
    "}\n"
    "\n"
    "// The way of every call: sizes, the size of the storage or else the device, its row, the plan, and the steps.\n"
    "template <class Unused>\n"
    "inline cudaError_t enter(const $_table *table, run_function *const *kernels, void *temp, size_t *temp_bytes,\n"
    "                         const void *const *buffers, const void *const *scalars, const size_t *given,\n"
    "                         cudaStream_t stream)\n"
    "{\n"
    "    $_facts facts;\n"
    "    int ordinal = 0, exact = 0;\n"
    "    long long sizes[AXES] = {0};\n"
    "    if (temp_bytes == nullptr)\n"
    "        return cudaErrorInvalidValue;\n"
    "    for (int i = 0; i < GIVEN; i++) {\n"
    "        sizes[i] = $_size(given[i]);\n"
    "        if (sizes[i] == 1ll << 48) // more than can be addressed\n"
    "            return cudaErrorInvalidValue;\n"
    "    }\n"
    "    if (temp == nullptr)\n"
    "        return storage<Unused>(table, sizes, temp_bytes);\n"
    "    const cudaError_t error = current_device<Unused>(&ordinal, &facts);\n"
    "    if (error != cudaSuccess)\n"
    "        return error;\n"
    "    const int row = $_choose(table, &facts, sizes, &exact);\n"
    "    if (row < 0)\n"
    "        return cudaErrorNotSupported; // nothing here suits this device\n"
    "    plan p = plan();\n"
    "    make_plan(&table->rows[row], &facts, sizes, buffers, 0, &p);\n"
    "    const size_t skip = (size_t)(0 - reinterpret_cast<size_t>(temp)) & 255;\n"
    "    if (p.bytes > 0 && (*temp_bytes < skip || *temp_bytes - skip < p.bytes))\n"
    "        return cudaErrorInvalidValue;\n"
    "    const call it = {&facts, ordinal, static_cast<char *>(temp) + skip, buffers, scalars, stream};\n"
    "    return kernels[table->rows[row].kernels](it, p);\n"
    "}\n"
    "\n";

// The storage for n must do for less than n as well: at the boundaries between the recorded sizes, of all classes.
static const char boundaries_text[] =
    "                for (int j = 0; j < table->row_count; j++) {\n"
    "                    const long long smaller = table->rows[j].from - 1;\n"
    "                    if (smaller >= 0 && smaller < sizes[0])\n"
    "                        raise_to_storage(&most, table, facts, &smaller, alignment);\n"
    "                }\n";
// clang-format on

typedef enum fact_use { FACT_ASK, FACT_STORE, FACT_LOAD } fact_use;

static void ask_fact(const st_emit_fact *fact, st_text *out)
{
    if (strcmp(fact->field, "max_cluster") == 0)
        st_text_add(out, "    facts->max_cluster = facts->cc >= 90 ? 8 : 1;\n");
    else if (strcmp(fact->field, "memory_bytes") == 0)
        st_text_add(out, "    facts->memory_bytes = 0;\n"
                         "    if (error == cudaSuccess) {\n"
                         "        cudaDeviceProp properties;\n"
                         "        error = cudaGetDeviceProperties(&properties, ordinal);\n"
                         "        facts->memory_bytes = (long long)properties.totalGlobalMem;\n"
                         "    }\n");
    else if (fact->attribute)
        st_text_addf(out,
                     "    if (error == cudaSuccess)\n"
                     "        error = ask(%s, ordinal, &facts->%s);\n",
                     fact->attribute, fact->field);
}

static void add_facts(const st_emit_model *model, fact_use use, st_text *out)
{
    size_t place = 0;
    for (size_t i = 0; i < st_emit_fact_count(); i++) {
        const st_emit_fact *fact = st_emit_fact_of(i);
        if (!model->fact_used[i])
            continue;
        if (use == FACT_ASK)
            ask_fact(fact, out);
        else if (use == FACT_STORE)
            st_text_addf(
                out,
                "        kept::fact[ordinal][%zu].store(facts->%s);\n",
                place, fact->field);
        else
            st_text_addf(
                out, "    facts->%s = kept::fact[ordinal][%zu].load();\n",
                fact->field, place);
        place++;
    }
}

static size_t facts_used(const st_emit_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < st_emit_fact_count(); i++)
        count += model->fact_used[i];
    return count;
}

// Words of the text that the model decides.
typedef void add_function(const st_emit_model *model, st_text *out);

static void add_asked(const st_emit_model *model, st_text *out)
{
    add_facts(model, FACT_ASK, out);
}

static void add_stored(const st_emit_model *model, st_text *out)
{
    add_facts(model, FACT_STORE, out);
}

static void add_loaded(const st_emit_model *model, st_text *out)
{
    add_facts(model, FACT_LOAD, out);
}

static void add_fact_count(const st_emit_model *model, st_text *out)
{
    st_text_addf(out, "%zu", facts_used(model));
}

static void add_axes(const st_emit_model *model, st_text *out)
{
    st_text_addf(out, "%zu", model->size_count ? model->size_count : 1);
}

static void add_given(const st_emit_model *model, st_text *out)
{
    st_text_addf(out, "%zu", model->size_count);
}

static void add_smaller(const st_emit_model *model, st_text *out)
{
    st_text_add(out, model->size_count > 1 ? "" : ", and smaller ones,");
}

static void add_weakest(const st_emit_model *model, st_text *out)
{
    st_text_add(out, model->shared.aligns ? "1" : "256");
}

static void add_boundaries(const st_emit_model *model, st_text *out)
{
    st_text_add(out, model->size_count == 1 ? boundaries_text : "");
}

static void add_text(const st_emit_model *model, const char *text, st_text *out)
{
    static const struct {
        const char *word;
        add_function *add;
    } words[] = {{"ASK", add_asked},         {"STORE", add_stored},     {"LOAD", add_loaded},
                 {"FACTS", add_fact_count},  {"AXES", add_axes},        {"GIVEN", add_given},
                 {"SMALLER", add_smaller},   {"WEAKEST", add_weakest},  {"BOUNDARIES", add_boundaries}};
    for (const char *at = text; *at;) {
        size_t span = strcspn(at, "$AFLSGWB"), length = 1, i = 0;
        st_text_add_bytes(out, at, span);
        at += span;
        if (!*at)
            break;
        while (i < sizeof words / sizeof *words && strncmp(at, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (*at == '$') {
            st_text_add(out, model->base);
        } else if (i < sizeof words / sizeof *words) {
            words[i].add(model, out);
            length = strlen(words[i].word);
        } else {
            st_text_add_bytes(out, at, 1);
        }
        at += length;
    }
}

void st_emit_host_common(const st_emit_model *model, bool calls, st_text *out)
{
    add_text(model, calls ? call_text : common_text, out);
}
