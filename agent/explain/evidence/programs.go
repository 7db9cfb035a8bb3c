package evidence

// Program is a container that runs, as the kernel has it.
type Program struct {
	Container string `json:"container"`
	// Main is its process 1, and Shim the process that started that, and that the runtime asks to end it.
	Main Process  `json:"main,omitzero"`
	Shim *Process `json:"shim,omitempty"`
	// Deaf: the kernel drops a SIGTERM to process 1, which has no handler for it, and the PID namespace of the container.
	Deaf bool `json:"deaf,omitempty"`
	// OOMKills counts the processes of the container that the kernel killed for want of memory.
	OOMKills int `json:"oomKills,omitempty"`
	// Periods counts the periods of the CPU limit in which the container ran, and Throttled those in which it had to wait.
	Periods   int `json:"periods,omitempty"`
	Throttled int `json:"throttled,omitempty"`
}

// Listen is a TCP port at which a process of the pod listens.
type Listen struct {
	Port uint16 `json:"port"`
	// Loopback: only the pod's own processes reach it.
	Loopback bool `json:"loopback,omitempty"`
}
