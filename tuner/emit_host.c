// SPDX-License-Identifier: Apache-2.0
// What all host functions of a header share: device facts kept by ordinal, the layout of the
// temporary storage, and the launch. Printed into the header's namespace `host`; see emit_plan.c
// for the functions.
#include "tuner/emit_internal.h"

#include <string.h>

// --- what all functions share: printed with $ for the base name ----------------------------------

// clang-format off
static const char common_text[] =
    "// What was asked of a device is kept by ordinal: facts that never change, each thread stores the same.\n"
    "template <class Unused> struct cache {\n"
    "    static std::atomic<int> ready[64], code_cc[64];\n"
    "    static std::atomic<long long> fact[64][FACTS];\n"
    "};\n"
    "template <class Unused> std::atomic<int> cache<Unused>::ready[64];\n"
    "template <class Unused> std::atomic<int> cache<Unused>::code_cc[64];\n"
    "template <class Unused> std::atomic<long long> cache<Unused>::fact[64][FACTS];\n"
    "\n"
    "inline cudaError_t ask(cudaDeviceAttr attribute, int ordinal, long long *value)\n"
    "{\n"
    "    int number = 0;\n"
    "    const cudaError_t error = cudaDeviceGetAttribute(&number, attribute, ordinal);\n"
    "    *value = number;\n"
    "    return error;\n"
    "}\n"
    "\n"
    "template <class Unused> inline cudaError_t ask_device(int ordinal, $_facts *facts)\n"
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
    "template <class Unused> inline cudaError_t device_facts(int ordinal, $_facts *facts)\n"
    "{\n"
    "    typedef cache<Unused> kept;\n"
    "    if (ordinal < 0 || ordinal >= 64 || !kept::ready[ordinal].load(std::memory_order_acquire)) {\n"
    "        const cudaError_t error = ask_device<Unused>(ordinal, facts);\n"
    "        if (error != cudaSuccess || ordinal < 0 || ordinal >= 64)\n"
    "            return error;\n"
    "STORE"
    "        kept::ready[ordinal].store(1, std::memory_order_release);\n"
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
    "template <class Unused> inline cudaError_t current_device(int *ordinal, $_facts *facts)\n"
    "{\n"
    "    typedef cache<Unused> kept;\n"
    "    cudaError_t error = cudaGetDevice(ordinal);\n"
    "    if (error == cudaSuccess)\n"
    "        error = device_facts<Unused>(*ordinal, facts);\n"
    "    if (error != cudaSuccess)\n"
    "        return error;\n"
    "    const bool keep = *ordinal >= 0 && *ordinal < 64;\n"
    "    int code = keep ? kept::code_cc[*ordinal].load(std::memory_order_relaxed) : 0;\n"
    "    if (code == 0) {\n"
    "        cudaFuncAttributes attributes;\n"
    "        void (*kernel)() = probe<Unused>;\n"
    "        error = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(kernel));\n"
    "        if (error != cudaSuccess)\n"
    "            return error;\n"
    "        code = attributes.ptxVersion;\n"
    "        if (keep)\n"
    "            kept::code_cc[*ordinal].store(code, std::memory_order_relaxed);\n"
    "    }\n"
    "    if (code < facts->cc)\n"
    "        facts->code_cc = code;\n"
    "    return cudaSuccess;\n"
    "}\n"
    "\n"
    "// Architectures that this file is compiled for (cc * 10); without the macro, the device's own.\n"
    "template <class Unused> inline int code_archs(long long cc, int *archs, int capacity)\n"
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
    "                           std::atomic<unsigned long long> *done)\n"
    "{\n"
    "    const unsigned long long bit = ordinal >= 0 && ordinal < 64 ? 1ull << ordinal : 0;\n"
    "    if (done->load(std::memory_order_acquire) & bit)\n"
    "        return cudaSuccess;\n"
    "    cudaFuncAttributes attributes;\n"
    "    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);\n"
    "    const int most = (int)facts.smem_per_block - (int)attributes.sharedSizeBytes;\n"
    "    if (error == cudaSuccess && most > attributes.maxDynamicSharedSizeBytes)\n"
    "        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);\n"
    "    if (error == cudaSuccess && facts.code_cc >= 90)\n"
    "        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);\n"
    "    if (error == cudaSuccess)\n"
    "        done->fetch_or(bit, std::memory_order_release);\n"
    "    return error;\n"
    "}\n"
    "\n"
    "template <class T> struct same { typedef T type; };\n"
    "\n"
    "// An empty grid is no launch: there is nothing to do.\n"
    "template <class... A>\n"
    "inline cudaError_t launch(void (*kernel)(A...), const $_facts &facts, int ordinal,\n"
    "                          std::atomic<unsigned long long> *prepared, const shape &form,\n"
    "                          cudaStream_t stream, typename same<A>::type... arguments)\n"
    "{\n"
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
    "        const cudaError_t error = prepare(function, facts, ordinal, prepared);\n"
    "        if (error != cudaSuccess)\n"
    "            return error;\n"
    "    }\n"
    "    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&arguments))..., nullptr};\n"
    "    const dim3 grid((unsigned)form.grid[0], (unsigned)form.grid[1], (unsigned)form.grid[2]);\n"
    "    const dim3 block((unsigned)form.block[0], (unsigned)form.block[1], (unsigned)form.block[2]);\n"
    "    const bool dependent = form.dependent != 0 && facts.code_cc >= 90;\n"
    "    if (form.cluster == 1 && !dependent)\n"
    "        return cudaLaunchKernel(function, grid, block, pointers, (size_t)form.shared, stream);\n"
    "    cudaLaunchAttribute attributes[2];\n"
    "    cudaLaunchConfig_t config = cudaLaunchConfig_t();\n"
    "    config.gridDim = grid;\n"
    "    config.blockDim = block;\n"
    "    config.dynamicSmemBytes = (size_t)form.shared;\n"
    "    config.stream = stream;\n"
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

// Half-precision numbers of the caller's type as those of the kernels. Only where a scalar is one.
static const char same_bits_text[] =
    "template <class To, class From> inline To same_bits(const From &from)\n"
    "{\n"
    "    static_assert(sizeof(To) == sizeof(From), \"the same number in two types\");\n"
    "    To to;\n"
    "    for (size_t i = 0; i < sizeof to; i++)\n"
    "        reinterpret_cast<char *>(&to)[i] = reinterpret_cast<const char *>(&from)[i];\n"
    "    return to;\n"
    "}\n"
    "\n";
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
                "        kept::fact[ordinal][%zu].store(facts->%s, std::memory_order_relaxed);\n",
                place, fact->field);
        else
            st_text_addf(
                out, "    facts->%s = kept::fact[ordinal][%zu].load(std::memory_order_relaxed);\n",
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

static bool takes_half(const st_emit_model *model)
{
    for (size_t f = 0; f < model->function_count; f++) {
        const st_emit_function *function = &model->functions[f];
        for (size_t i = 0; i < function->argument_count; i++) {
            if (function->arguments[i].scalar < 0)
                continue;
            st_type_id id =
                st_problem_scalar_type(model->tmpl, &st_emit_row_choice(model, function, 0)->problem,
                                       &model->tmpl->scalars[function->arguments[i].scalar]);
            if (id == ST_F16 || id == ST_BF16)
                return true;
        }
    }
    return false;
}

void st_emit_host_common(const st_emit_model *model, st_text *out)
{
    static const struct {
        const char *word;
        int use;
    } words[] = {{"ASK", FACT_ASK}, {"STORE", FACT_STORE}, {"LOAD", FACT_LOAD}};
    for (const char *at = common_text; *at;) {
        size_t span = strcspn(at, "$AFLS");
        st_text_add_bytes(out, at, span);
        at += span;
        if (!*at)
            break;
        size_t length = 1;
        if (*at == '$') {
            st_text_add(out, model->base);
        } else if (strncmp(at, "FACTS", 5) == 0) {
            st_text_addf(out, "%zu", facts_used(model));
            length = 5;
        } else {
            bool found = false;
            for (size_t i = 0; !found && i < 3; i++)
                if (strncmp(at, words[i].word, strlen(words[i].word)) == 0) {
                    add_facts(model, (fact_use)words[i].use, out);
                    length = strlen(words[i].word);
                    found = true;
                }
            if (!found)
                st_text_add_bytes(out, at, 1);
        }
        at += length;
    }
    if (takes_half(model))
        st_text_add(out, same_bits_text);
}
