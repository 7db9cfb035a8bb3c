package filefaults

import "golang.org/x/sys/unix"

// architecture is how the kernel marks the system calls of this architecture. It has none but those in calls.
const architecture = unix.AUDIT_ARCH_AARCH64
