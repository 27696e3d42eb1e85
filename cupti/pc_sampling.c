// SPDX-License-Identifier: Apache-2.0
// Stall reasons by PC sampling: where the warps of a run stand and what they wait for, without
// replay.
//
// Invariants:
//  1. PC sampling is enabled once and stays enabled from candidate to candidate (profiler.c);
//  buffers are
//     made once and reused.
//  2. The number and names of reasons are asked for after enabling, never before: CUPTI refuses it.
//  3. Kernels are serialised, so each sample belongs to one kernel; all kernels of a run are
//  summed,
//     each by the time it takes, since all are sampled at one period.
//  4. What `prepare` launches is read and thrown away before each run; when the image is known,
//  samples of
//     other modules are left out as well.
// One candidate's collection, and how the period is chosen, stand in pc_collect.c.
//
// States: off → enabled, unconfigured → configured (st_sampling_enable) → off
// (st_sampling_disable).
#include "cupti/profiler_internal.h"

#include "tuner/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 4096 // instructions read at once; more come in further reads
// Plenty for one run. Said explicitly, since with CUPTI's own choice the first run after each
// enabling or change of the period took 0.4 s on an H200, and with any size of 2 to 512 MiB about
// 0.1 s.
#define HARDWARE_BYTES ((size_t)32 << 20)
#define FIRST_PERIOD 9

// --- reasons and buffers
// -----------------------------------------------------------------------------------

// "smsp__pcsamp_warps_issue_stalled_wait_not_issued" → "wait", true.
static bool reason_of(const char *name, char core[64], bool *not_issued) {
    static const char *const starts[] = {"smsp__pcsamp_warps_issue_stalled_",
                                         "smsp__pcsamp_warp_stall_"};
    static const char end[] = "_not_issued";
    bool is_reason = false;
    for (size_t i = 0; i < 2 && !is_reason; i++)
        if (st_text_starts(name, starts[i])) {
            name += strlen(starts[i]);
            is_reason = true;
        }
    size_t length = strlen(name);
    *not_issued = length > sizeof end - 1 && strcmp(name + length - (sizeof end - 1), end) == 0;
    if (*not_issued)
        length -= sizeof end - 1;
    snprintf(core, 64, "%.*s", (int)(length < 63 ? length : 63), name);
    return is_reason;
}

static int slot_for(st_sampling *sampling, const char *core) {
    for (size_t s = 0; s < sampling->slot_count; s++)
        if (strcmp(sampling->slot_names[s], core) == 0)
            return (int)s;
    if (sampling->slot_count == ST_REASON_SLOTS)
        return -1;
    snprintf(sampling->slot_names[sampling->slot_count], 64, "%s", core);
    return (int)sampling->slot_count++;
}

static st_code number_reasons(st_sampling *sampling, char *const *names, st_error *error) {
    uint32_t highest = 0;
    for (uint32_t i = 0; i < sampling->reason_count; i++)
        if (sampling->reason_index[i] > highest)
            highest = sampling->reason_index[i];
    if (highest > 4096)
        return st_fail(error, ST_FAILED, NULL, "CUPTI numbers a stall reason %u", highest);
    sampling->number_count = highest + 1;
    sampling->by_number = st_calloc(sampling->number_count, sizeof *sampling->by_number);
    if (!sampling->by_number)
        return st_fail_memory(error, "listing stall reasons");
    for (uint32_t n = 0; n < sampling->number_count; n++)
        sampling->by_number[n].slot = -1;
    for (uint32_t i = 0; i < sampling->reason_count; i++) {
        char core[64];
        st_reason_slot *slot = &sampling->by_number[sampling->reason_index[i]];
        if (reason_of(names[i], core, &slot->not_issued))
            slot->slot = slot_for(sampling, core);
    }
    return ST_OK;
}

static st_code ask_reasons(st_profiler *profiler, char **names, char *memory, st_error *error) {
    st_sampling *sampling = &profiler->sampling;
    for (uint32_t i = 0; i < sampling->reason_count; i++)
        names[i] = memory + (size_t)i * CUPTI_STALL_REASON_STRING_SIZE;
    CUpti_PCSamplingGetStallReasonsParams ask = {
        .size = ST_CUPTI_SIZE(CUpti_PCSamplingGetStallReasonsParams, stallReasons),
        .ctx = profiler->context,
        .numStallReasons = sampling->reason_count,
        .stallReasonIndex = sampling->reason_index,
        .stallReasons = names};
    int result = ST_CUPTI(profiler->api, PCSamplingGetStallReasons, &ask);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(profiler->api, result, "listing stall reasons", error);
    return number_reasons(sampling, names, error);
}

static st_code list_reasons(st_profiler *profiler, st_error *error) {
    st_sampling *sampling = &profiler->sampling;
    size_t count = 0;
    CUpti_PCSamplingGetNumStallReasonsParams ask = {
        .size = ST_CUPTI_SIZE(CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons),
        .ctx = profiler->context,
        .numStallReasons = &count};
    int result = ST_CUPTI(profiler->api, PCSamplingGetNumStallReasons, &ask);
    if (result != CUPTI_SUCCESS || count == 0 || count > 4096)
        return st_cupti_fail(profiler->api, result, "counting stall reasons", error);
    sampling->reason_count = (uint32_t)count;
    sampling->reason_index = st_calloc(count, sizeof *sampling->reason_index);
    char **names = st_calloc(count, sizeof *names);
    char *memory = st_calloc(count, CUPTI_STALL_REASON_STRING_SIZE);
    st_code code = sampling->reason_index && names && memory
                       ? ask_reasons(profiler, names, memory, error)
                       : st_fail_memory(error, "listing stall reasons");
    st_free(names);
    st_free(memory);
    return code;
}

static st_code make_buffers(st_sampling *sampling, st_error *error) {
    size_t reasons = sampling->reason_count;
    sampling->record_memory = st_calloc(2 * (size_t)RECORDS, sizeof *sampling->record_memory);
    sampling->stall_memory =
        st_calloc(2 * (size_t)RECORDS * reasons, sizeof *sampling->stall_memory);
    if (!sampling->record_memory || !sampling->stall_memory)
        return st_fail_memory(error, "holding samples");
    for (size_t i = 0; i < 2 * (size_t)RECORDS; i++) {
        sampling->record_memory[i].size = sizeof *sampling->record_memory;
        sampling->record_memory[i].stallReason = sampling->stall_memory + i * reasons;
    }
    CUpti_PCSamplingData *buffers[] = {&sampling->kept, &sampling->taken};
    for (size_t b = 0; b < 2; b++) {
        *buffers[b] =
            (CUpti_PCSamplingData){.size = ST_CUPTI_SIZE(CUpti_PCSamplingData, hardwareBufferFull),
                                   .collectNumPcs = RECORDS,
                                   .pPcData = sampling->record_memory + b * RECORDS};
    }
    return ST_OK;
}

// --- enabling
// ----------------------------------------------------------------------------------------------

static int set_attributes(st_profiler *profiler, CUpti_PCSamplingConfigurationInfo *attributes,
                          size_t count) {
    CUpti_PCSamplingConfigurationInfoParams set = {
        .size =
            ST_CUPTI_SIZE(CUpti_PCSamplingConfigurationInfoParams, pPCSamplingConfigurationInfo),
        .ctx = profiler->context,
        .numAttributes = count,
        .pPCSamplingConfigurationInfo = attributes};
    return ST_CUPTI(profiler->api, PCSamplingSetConfigurationAttribute, &set);
}

static st_code configure(st_profiler *profiler, st_error *error) {
    st_sampling *sampling = &profiler->sampling;
    CUpti_PCSamplingConfigurationInfo attributes[5];
    memset(attributes, 0, sizeof attributes);
    attributes[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
    attributes[0].attributeData.collectionModeData.collectionMode =
        CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED; // invariant 3
    attributes[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
    attributes[1].attributeData.samplingDataBufferData.samplingDataBuffer = &sampling->kept;
    attributes[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON;
    attributes[2].attributeData.stallReasonData.stallReasonCount = sampling->reason_count;
    attributes[2].attributeData.stallReasonData.pStallReasonIndex = sampling->reason_index;
    attributes[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    attributes[3].attributeData.samplingPeriodData.samplingPeriod = sampling->period;
    attributes[4].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE;
    attributes[4].attributeData.hardwareBufferSizeData.hardwareBufferSize = HARDWARE_BYTES;
    int result = set_attributes(profiler, attributes, 5);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(profiler->api, result, "configuring PC sampling", error);
    sampling->set_period = sampling->period;
    sampling->fresh = true;
    return ST_OK;
}

st_code st_sampling_enable(st_profiler *profiler, st_error *error) {
    st_sampling *sampling = &profiler->sampling;
    CUpti_PCSamplingEnableParams on = {.size = ST_CUPTI_SIZE(CUpti_PCSamplingEnableParams, ctx),
                                       .ctx = profiler->context};
    int result = ST_CUPTI(profiler->api, PCSamplingEnable, &on);
    if (result != CUPTI_SUCCESS)
        return st_cupti_fail(profiler->api, result, "enabling PC sampling", error);
    st_code code = ST_OK;
    if (!sampling->ready) {
        st_sampling_release(sampling);
        sampling->period = FIRST_PERIOD;
        sampling->limit = ST_PERIOD_FINEST;
        code = list_reasons(profiler, error); // invariant 2
        if (code == ST_OK)
            code = make_buffers(sampling, error);
        sampling->ready = code == ST_OK;
    }
    if (code == ST_OK)
        code = configure(profiler, error);
    if (code != ST_OK && st_sampling_disable(profiler, NULL) != ST_OK)
        (void)st_sampling_disable(profiler, NULL); // as in st_profiler_switch
    return code;
}

st_code st_sampling_disable(st_profiler *profiler, st_error *error) {
    CUpti_PCSamplingDisableParams off = {.size = ST_CUPTI_SIZE(CUpti_PCSamplingDisableParams, ctx),
                                         .ctx = profiler->context};
    profiler->sampling.set_period = 0;
    int result = ST_CUPTI(profiler->api, PCSamplingDisable, &off);
    return result == CUPTI_SUCCESS
               ? ST_OK
               : st_cupti_fail(profiler->api, result, "disabling PC sampling", error);
}

void st_sampling_release(st_sampling *sampling) {
    st_free(sampling->reason_index);
    st_free(sampling->by_number);
    st_free(sampling->stall_memory);
    st_free(sampling->record_memory);
    st_pc_table_release(&sampling->table);
    *sampling = (st_sampling){0};
}

// The period can be changed while enabled; where CUPTI refuses that, sampling is enabled anew.
st_code st_sampling_apply_period(st_profiler *profiler, st_error *error) {
    st_sampling *sampling = &profiler->sampling;
    if (sampling->set_period == sampling->period)
        return ST_OK;
    CUpti_PCSamplingConfigurationInfo attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    attribute.attributeData.samplingPeriodData.samplingPeriod = sampling->period;
    if (set_attributes(profiler, &attribute, 1) == CUPTI_SUCCESS) {
        sampling->set_period = sampling->period;
        sampling->fresh = true;
        return ST_OK;
    }
    st_code code = st_profiler_switch(profiler, ST_MODE_OFF, error);
    return code == ST_OK ? st_profiler_switch(profiler, ST_MODE_SAMPLING, error) : code;
}

// --- reading
// -----------------------------------------------------------------------------------------------

static bool add_record(st_sampling *sampling, const CUpti_PCSamplingPCData *record,
                       const st_sample_reading *reading) {
    const char *function = record->functionName ? record->functionName : "?";
    bool ours = reading->crc_known && record->cubinCrc == reading->crc;
    st_pc_entry *entry = st_pc_table_at(&sampling->table, function, ours, record->pcOffset);
    if (!entry)
        return false;
    for (size_t i = 0; i < record->stallReasonCount && i < sampling->reason_count; i++) {
        uint32_t number = record->stallReason[i].pcSamplingStallReasonIndex;
        if (number >= sampling->number_count || sampling->by_number[number].slot < 0)
            continue;
        const st_reason_slot *slot = &sampling->by_number[number];
        (slot->not_issued ? entry->not_issued : entry->samples)[slot->slot] +=
            record->stallReason[i].samples;
    }
    return true;
}

static st_code add_records(st_sampling *sampling, const st_sample_reading *reading, st_error *error) {
    const CUpti_PCSamplingData *taken = &sampling->taken;
    bool fine = true;
    for (size_t i = 0; i < taken->totalNumPcs && i < RECORDS; i++) {
        CUpti_PCSamplingPCData *record = &taken->pPcData[i];
        fine = fine && add_record(sampling, record, reading);
        record->functionName = NULL;
        record->stallReasonCount = 0;
    }
    return fine ? ST_OK : st_fail_memory(error, "summing stall samples");
}

st_code st_sampling_read(st_profiler *profiler, st_sample_reading *reading, st_error *error) {
    st_sampling *sampling = &profiler->sampling;
    CUpti_PCSamplingData *taken = &sampling->taken;
    CUpti_PCSamplingGetDataParams get = {
        .size = ST_CUPTI_SIZE(CUpti_PCSamplingGetDataParams, pcSamplingData),
        .ctx = profiler->context,
        .pcSamplingData = taken};
    st_sample_reading unused = {.crc_known = false};
    bool keep = reading != NULL;
    reading = keep ? reading : &unused;
    do {
        taken->totalNumPcs = taken->remainingNumPcs = 0;
        taken->droppedSamples = 0;
        int result = ST_CUPTI(profiler->api, PCSamplingGetData, &get);
        if (result == CUPTI_ERROR_OUT_OF_MEMORY || taken->hardwareBufferFull) {
            reading->full = true;
            taken->hardwareBufferFull = 0;
        } else if (result != CUPTI_SUCCESS) {
            return st_profiler_give_up(profiler, result, "reading samples", error);
        }
        reading->dropped += taken->droppedSamples;
        st_code code = keep ? add_records(sampling, reading, error) : ST_OK;
        if (code != ST_OK)
            return code;
    } while (taken->remainingNumPcs > 0 && taken->totalNumPcs > 0);
    return ST_OK;
}
