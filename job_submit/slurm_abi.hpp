// What slurmctld exports to plugins but no public header declares.  Signatures are equal from
// 22.05 to 26.05.
#pragma once

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

void slurm_info(const char* format, ...) __attribute__((format(printf, 1, 2)));
void slurm_error(const char* format, ...) __attribute__((format(printf, 1, 2)));
char* slurm_xstrdup(const char* text);  // slurmctld frees what it owns with xfree()
void slurm_xfree(void** item);          // null is fine
/// Sets a variable in an array that ends with a null and that slurmctld frees; 1 on success.
int slurm_env_array_overwrite(char*** array, const char* name, const char* value);
struct job_record;                      // opaque to us
}
