/* A stand-in for libnvidia-ml.so.1, driven by the text file that FAKE_NVML names, which is read at each call.
 *
 * Each line of the file describes one GPU, by words like "util=93 power=410000 pids=12,13 lost mig nogpm xid=79";
 * what is not named has a default. An XID is reported once for each value that the word takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15, MAX_GPUS = 16 };
enum { RESERVED = 600 << 20 };

typedef struct { unsigned index; } gpu_t;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { unsigned gpu, memory; } utilization_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct { unsigned long long at_us, value; } sample_t;
typedef struct { gpu_t *device; unsigned long long type, data; unsigned gi, ci; } event_t;
typedef struct { unsigned version, supported; } support_t;
typedef struct { unsigned id; int result; double value; const char *names[3]; } metric_t;
typedef struct { unsigned version, count; void *first, *second; metric_t metrics[]; } metrics_t;
typedef struct { unsigned field, scope; long long at, latency; int type, result; unsigned long long value; } field_t;

static gpu_t gpus[MAX_GPUS];
static long reported[MAX_GPUS];

static unsigned lines(char text[MAX_GPUS][512]) {
    const char *name = getenv("FAKE_NVML");
    FILE *file = name ? fopen(name, "r") : NULL;
    unsigned count = 0;
    while (file && count < MAX_GPUS && fgets(text[count], 512, file)) count++;
    if (file) fclose(file);
    return count;
}

/* Return the text after "word=" or the word itself in the line of a GPU; NULL if it is not there. */
static const char *find(unsigned index, const char *word) {
    static char text[MAX_GPUS][512];
    if (index >= lines(text)) return NULL;
    char *place = strstr(text[index], word);
    return place ? place + strlen(word) : NULL;
}

static long number(unsigned index, const char *word, long otherwise) {
    const char *value = find(index, word);
    return value ? atol(value) : otherwise;
}

#define CHECK(gpu) do { if (find((gpu)->index, "lost")) return LOST; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int result) { return result == NOT_SUPPORTED ? "Not Supported" : "GPU is lost"; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    char text[MAX_GPUS][512];
    *count = lines(text);
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu_t **gpu) {
    gpus[index].index = index;
    *gpu = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetIndex(gpu_t *gpu, unsigned *index) { CHECK(gpu); *index = gpu->index; return SUCCESS; }

int nvmlDeviceGetName(gpu_t *gpu, char *name, unsigned size) {
    CHECK(gpu);
    snprintf(name, size, "Fake GPU");
    return SUCCESS;
}

int nvmlDeviceGetUUID(gpu_t *gpu, char *uuid, unsigned size) {
    CHECK(gpu);
    snprintf(uuid, size, "GPU-fake-%u", gpu->index);
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(gpu_t *gpu, utilization_t *rates) {
    CHECK(gpu);
    if (find(gpu->index, "mig")) return NOT_SUPPORTED;
    rates->gpu = number(gpu->index, "util=", 0);
    rates->memory = 0;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(gpu_t *gpu, unsigned *mw) {
    CHECK(gpu);
    *mw = number(gpu->index, "power=", 70000);
    return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(gpu_t *gpu, unsigned *mw) { CHECK(gpu); *mw = 700000; return SUCCESS; }

int nvmlDeviceGetMemoryInfo(gpu_t *gpu, memory_t *memory) {
    CHECK(gpu);
    memory->total = 80ULL << 30;
    memory->used = number(gpu->index, "memory=", 1 << 20) + RESERVED; /* as real drivers count */
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(gpu_t *gpu, memory_v2_t *memory) {
    CHECK(gpu);
    if (find(gpu->index, "olddriver")) return NOT_SUPPORTED;
    memory->total = 80ULL << 30;
    memory->reserved = RESERVED;
    memory->used = number(gpu->index, "memory=", 1 << 20);
    memory->free = memory->total - memory->reserved - memory->used;
    return SUCCESS;
}

/* The values after "samples=", separated by commas, as if new at each call. */
int nvmlDeviceGetSamples(gpu_t *gpu, int kind, unsigned long long after_us, int *type, unsigned *count,
                         sample_t *samples) {
    (void)kind;
    CHECK(gpu);
    const char *value = find(gpu->index, "samples=");
    if (!value) return NOT_SUPPORTED;
    unsigned found = 0;
    for (; *value && *value != ' ' && *value != '\n'; value++) {
        unsigned long long percent = strtoul(value, (char **)&value, 10);
        if (samples) samples[found] = (sample_t){after_us + 200000 * (found + 1), percent};
        found++;
        if (*value != ',') break;
    }
    *type = 1;
    *count = found;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(gpu_t *gpu, int sensor, unsigned *degrees) {
    (void)sensor;
    CHECK(gpu);
    *degrees = number(gpu->index, "temperature=", 40);
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(gpu_t *gpu, unsigned long long *reasons) {
    CHECK(gpu);
    *reasons = number(gpu->index, "throttle=", 1);
    return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(gpu_t *gpu, int kind, int counter, unsigned long long *errors) {
    (void)kind, (void)counter;
    CHECK(gpu);
    if (find(gpu->index, "noecc")) return NOT_SUPPORTED;
    *errors = number(gpu->index, "ecc=", 0);
    return SUCCESS;
}

int nvmlDeviceGetRemappedRows(gpu_t *gpu, unsigned *corrected, unsigned *not_corrected, unsigned *pending,
                              unsigned *failed) {
    CHECK(gpu);
    *corrected = number(gpu->index, "rows=", 0);
    *not_corrected = *pending = *failed = 0;
    return SUCCESS;
}

int nvmlDeviceGetFieldValues(gpu_t *gpu, int count, field_t *fields) {
    CHECK(gpu);
    for (int i = 0; i < count; i++) {
        fields[i].type = 3;
        fields[i].result = SUCCESS;
        fields[i].value = number(gpu->index, "nvlink=", 0);
    }
    return SUCCESS;
}

int nvmlDeviceGetMigMode(gpu_t *gpu, unsigned *current, unsigned *pending) {
    CHECK(gpu);
    if (find(gpu->index, "whole")) return NOT_SUPPORTED;
    *current = *pending = find(gpu->index, "mig") != NULL;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(gpu_t *gpu, unsigned *count, process_t *processes) {
    CHECK(gpu);
    const char *text = find(gpu->index, "pids=");
    unsigned found = 0, room = processes ? *count : 0;
    while (text && *text >= '0' && *text <= '9') {
        char *end;
        unsigned pid = strtoul(text, &end, 10);
        if (found < room) processes[found] = (process_t){pid, 1 << 20, 0, 0};
        found++;
        text = *end == ',' ? end + 1 : end;
    }
    *count = found;
    return found > room ? TOO_SMALL : SUCCESS;
}

int nvmlEventSetCreate(void **set) { *set = gpus; return SUCCESS; }
int nvmlDeviceRegisterEvents(gpu_t *gpu, unsigned long long types, void *set) {
    (void)gpu, (void)types, (void)set;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, event_t *event, unsigned timeout_ms) {
    (void)set, (void)timeout_ms;
    for (unsigned index = 0; index < MAX_GPUS; index++) {
        long xid = number(index, "xid=", 0);
        if (xid && reported[index] != xid) {
            reported[index] = xid;
            *event = (event_t){&gpus[index], 8, xid, 0, 0};
            return SUCCESS;
        }
    }
    return TIMEOUT;
}

int nvmlGpmQueryDeviceSupport(gpu_t *gpu, support_t *support) {
    CHECK(gpu);
    support->supported = find(gpu->index, "nogpm") == NULL;
    return SUCCESS;
}

int nvmlGpmSampleAlloc(void **sample) { *sample = calloc(1, sizeof(gpu_t *)); return SUCCESS; }

int nvmlGpmSampleGet(gpu_t *gpu, void *sample) { CHECK(gpu); *(gpu_t **)sample = gpu; return SUCCESS; }

int nvmlGpmMetricsGet(metrics_t *request) {
    gpu_t *gpu = *(gpu_t **)request->second;
    for (unsigned i = 0; i < request->count; i++) {
        unsigned id = request->metrics[i].id;
        request->metrics[i].result = SUCCESS;
        request->metrics[i].value = number(gpu->index, id == 2 ? "sm=" : id == 5 ? "tensor=" : "dram=", 0);
    }
    return SUCCESS;
}
