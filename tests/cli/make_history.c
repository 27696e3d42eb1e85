// SPDX-License-Identifier: Apache-2.0
// Writes the store that the tests of compare, acknowledge and history ask: make_history STORE
//   on an H200: driver 570.124.06, then 580.65.06, which made 64Ki slower and left 1Mi as it was, then 580.159.04 with
//   a new template, which made 64Ki faster again; 16Mi scatters too much to tell, and is lost in the last session
//   on an A100: driver 580.65.06 alone
#include "tests/unit/db/history_fixture.h"
#include "tuner/base/json.h"

#include <stdlib.h>

static st_error error;

static void need(st_code code)
{
    if (code == ST_OK)
        return;
    fprintf(stderr, "make_history: %s\n", error.what);
    exit(1);
}

static void add(st_store *store, history_session session, history_problem *problems, size_t count)
{
    need(history_begin(store, &session, &error));
    for (size_t i = 0; i < count; i++)
        need(history_add(&session, &problems[i], &error));
    need(history_end(&session, &error));
    printf("%s\n", session.row.id);
}

int main(int argc, char **argv)
{
    st_json_setup();
    if (argc != 2) {
        fprintf(stderr, "make_history: STORE\n");
        return 2;
    }
    st_store *store = NULL;
    need(st_store_open(argv[1], ST_STORE_WRITE, &store, &error));
    history_problem first[] = {
        {.n = 65536, .ns = 4600, .scatter = 0.005, .seed = 1, .long_scoreboard = 0.62, .barrier = 0.05, .dram = 0.9},
        {.n = 1048576, .ns = 9000, .scatter = 0.005, .seed = 2},
        {.n = 1048576, .cache = "warm", .ns = 7000, .scatter = 0.005, .seed = 3},
        {.n = 16777216, .ns = 22000, .scatter = 0.3, .seed = 4}};
    history_problem second[] = {
        {.n = 65536, .ns = 4830, .scatter = 0.005, .seed = 11, .long_scoreboard = 0.5, .barrier = 0.2, .dram = 0.84,
         .default_ns = 9300},
        {.n = 1048576, .ns = 9010, .scatter = 0.005, .seed = 12},
        {.n = 16777216, .ns = 22500, .scatter = 0.3, .seed = 14}};
    history_problem third[] = {
        {.n = 65536, .ns = 4500, .scatter = 0.005, .seed = 21, .configuration = "BLOCK=1024 VEC=4", .clock = 1755},
        {.n = 1048576, .ns = 9005, .scatter = 0.005, .seed = 22},
        {.n = 16777216, .outcome = "crash", .seed = 24}};
    history_problem other[] = {{.n = 65536, .ns = 6100, .scatter = 0.005, .seed = 31},
                               {.n = 1048576, .ns = 12800, .scatter = 0.005, .seed = 32}};
    add(store, (history_session){.driver = "570.124.06", .ended_ms = 1780000000000}, first, 4);
    add(store, (history_session){.driver = "580.65.06", .ended_ms = 1785000000000}, second, 3);
    add(store, (history_session){.driver = "580.159.04", .template_hash = "2222bbbb2222bbbb2222bbbb2222bbbb",
                                 .ended_ms = 1790000000000}, third, 3);
    add(store, (history_session){.driver = "580.65.06", .device = "NVIDIA A100", .uuid = "GPU-aaaa", .ended_ms = 1786000000000},
        other, 2);
    st_store_close(store);
    return 0;
}
