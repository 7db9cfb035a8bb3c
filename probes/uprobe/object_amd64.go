package uprobe

import _ "embed"

// object is the program in the kernel.
//
//go:embed steps.amd64.bpf.o
var object []byte
