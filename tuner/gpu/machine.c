// SPDX-License-Identifier: Apache-2.0
// Invariants: 1. nothing is opened for writing and nothing is changed; 2. every path goes through
// `root`, so a test sees only its own tree; 3. what is not there is left unknown.
#include "tuner/gpu/machine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

const char *st_machine_root = "";

#define PATH_CAPACITY 1024

static bool exists(const char *root, const char *path)
{
    char full[PATH_CAPACITY];
    snprintf(full, sizeof full, "%s%s", root, path);
    return access(full, F_OK) == 0;
}

// The beginning of a small text file, "" when it cannot be read.
static void read_start(const char *root, const char *path, char *out, size_t capacity)
{
    char full[PATH_CAPACITY];
    snprintf(full, sizeof full, "%s%s", root, path);
    out[0] = '\0';
    FILE *file = fopen(full, "re");
    if (!file)
        return;
    out[fread(out, 1, capacity - 1, file)] = '\0';
    fclose(file);
}

static void read_environment(const char *root, st_machine_facts *facts)
{
    char text[4096];
    read_start(root, "/proc/sys/kernel/osrelease", text, sizeof text);
    facts->has_dxg = exists(root, "/dev/dxg");
    facts->is_wsl = facts->has_dxg || strcasestr(text, "microsoft") != NULL;

    read_start(root, "/proc/1/cgroup", text, sizeof text);
    const char *kind = "";
    if (exists(root, "/var/run/secrets/kubernetes.io") || strstr(text, "kubepods"))
        kind = "kubernetes";
    else if (exists(root, "/.dockerenv") || strstr(text, "/docker"))
        kind = "docker";
    else if (exists(root, "/run/.containerenv") || strstr(text, "libpod"))
        kind = "podman";
    else if (strstr(text, "/lxc"))
        kind = "lxc";
    else if (exists(root, "/run/systemd/container") || exists(root, "/.singularity.d"))
        kind = "container";
    else {
        // containerd and others leave no file; their root is an overlay.
        read_start(root, "/proc/self/mounts", text, sizeof text);
        if (strncmp(text, "overlay / ", 10) == 0)
            kind = "container";
    }
    snprintf(facts->container, sizeof facts->container, "%s", kind);
    facts->is_container = kind[0] != '\0';

    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    facts->has_visible_devices = visible != NULL;
    snprintf(facts->visible_devices, sizeof facts->visible_devices, "%s", visible ? visible : "");
}

static void note_if_closed(const char *root, const char *node, st_machine_facts *facts)
{
    char full[PATH_CAPACITY];
    snprintf(full, sizeof full, "%s/dev/%s", root, node);
    // Asked by opening: container runtimes deny through device rules that access() does not see.
    int fd = open(full, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        close(fd);
        return;
    }
    if (errno != EACCES && errno != EPERM)
        return;
    if (facts->closed_nodes++ > 0)
        return;
    snprintf(facts->closed_node, sizeof facts->closed_node, "/dev/%s", node);
    struct stat status;
    if (stat(full, &status) == 0) {
        const struct group *group = getgrgid(status.st_gid);
        if (group)
            snprintf(facts->closed_group, sizeof facts->closed_group, "%s", group->gr_name);
    }
}

static bool is_device_node(const char *name)
{
    if (strncmp(name, "nvidia", 6) != 0 || !name[6])
        return false;
    for (const char *c = name + 6; *c; c++)
        if (!isdigit((unsigned char)*c))
            return false;
    return true;
}

static void read_nodes(const char *root, st_machine_facts *facts)
{
    char folder[PATH_CAPACITY];
    snprintf(folder, sizeof folder, "%s/dev", root);
    facts->has_uvm_node = exists(root, "/dev/nvidia-uvm");
    facts->has_control_node = exists(root, "/dev/nvidiactl");
    if (facts->has_control_node)
        note_if_closed(root, "nvidiactl", facts);
    DIR *listing = opendir(folder);
    if (!listing)
        return;
    for (struct dirent *entry; (entry = readdir(listing));)
        if (is_device_node(entry->d_name)) {
            facts->device_nodes++;
            note_if_closed(root, entry->d_name, facts);
        }
    closedir(listing);
}

static void read_pci(const char *root, st_machine_facts *facts)
{
    char folder[PATH_CAPACITY];
    snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices", root);
    facts->pci_gpus = -1;
    DIR *listing = opendir(folder);
    if (!listing)
        return;
    facts->pci_gpus = 0;
    for (struct dirent *entry; (entry = readdir(listing));) {
        char path[PATH_CAPACITY], vendor[32], class[32];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%.64s/vendor", entry->d_name);
        read_start(root, path, vendor, sizeof vendor);
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%.64s/class", entry->d_name);
        read_start(root, path, class, sizeof class);
        // Class 03 is a display controller: VGA (00) on desktops, 3D (02) on servers.
        if (strtoul(vendor, NULL, 16) == 0x10de && strtoul(class, NULL, 16) >> 16 == 0x03)
            facts->pci_gpus++;
    }
    closedir(listing);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue …", or with "Open Kernel Module
// for x86_64": the version is the first word that begins with a digit and holds a dot.
static void take_module_version(char *text, st_machine_facts *facts)
{
    char *rest = NULL;
    text[strcspn(text, "\n")] = '\0';
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        if (isdigit((unsigned char)word[0]) && strchr(word, '.')) {
            snprintf(facts->kernel_module, sizeof facts->kernel_module, "%.31s", word);
            return;
        }
}

static void read_kernel(const char *root, st_machine_facts *facts)
{
    char text[8192];
    facts->nouveau = exists(root, "/sys/module/nouveau");
    read_start(root, "/proc/driver/nvidia/version", text, sizeof text);
    facts->has_kernel_module = text[0] != '\0';
    take_module_version(text, facts);

    facts->profiling_admin_only = -1;
    read_start(root, "/proc/driver/nvidia/params", text, sizeof text);
    const char *row = strstr(text, "RmProfilingAdminOnly:");
    if (row)
        facts->profiling_admin_only = atoi(row + strlen("RmProfilingAdminOnly:")) != 0;

    // Bit 21 of the effective capabilities is CAP_SYS_ADMIN; root without it (a container) does not
    // count for the kernel module.
    read_start(root, "/proc/self/status", text, sizeof text);
    row = strstr(text, "CapEff:");
    if (row)
        facts->may_administer = strtoull(row + strlen("CapEff:"), NULL, 16) >> 21 & 1;
}

void st_machine_read(const char *root, st_machine_facts *facts)
{
    *facts = (st_machine_facts){0};
    read_environment(root, facts);
    read_nodes(root, facts);
    read_pci(root, facts);
    read_kernel(root, facts);
}

bool st_machine_has_gpu(const st_machine_facts *facts)
{
    if (facts->device_nodes > 0 || facts->has_dxg)
        return true;
    // A container sees the host's PCI bus whether or not it was given the GPU.
    return facts->pci_gpus > 0 && !facts->is_container;
}
