//go:build linux

package uprobe

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/memory"
)

var argument = regexp.MustCompile(`regs\[(\w+)\] = ctx->(\S+);`)

// TestRegisters: the program in the kernel has the registers of arguments in the order of the tables.
func TestRegisters(t *testing.T) {
	for arch, names := range memory.Registers {
		text := string(contents(t, "bpf/"+arch+"/registers.h"))
		if !strings.Contains(text, fmt.Sprintf("enum { REGISTERS = %d };", len(names))) {
			t.Errorf("on %s the program has not %d registers", arch, len(names))
		}
		all := argument.FindAllStringSubmatch(text, -1)
		if arch == "arm64" { // its registers have numbers
			if len(all) != 1 || all[0][0] != "regs[i] = ctx->regs[i];" || names[0] != "X0" || names[15] != "X15" {
				t.Errorf("on arm64 the program has %v", all)
			}
			continue
		}
		for i, name := range names {
			if i >= len(all) || all[i][1] != fmt.Sprint(i) || strings.TrimPrefix(strings.ToLower(name), "r") != strings.TrimPrefix(all[i][2], "r") {
				t.Errorf("register %d is %s, and the program has %v", i, name, all)
			}
		}
	}
}
