package uprobe

import _ "embed"

// object is the program in the kernel.
//
//go:embed steps.arm64.bpf.o
var object []byte
