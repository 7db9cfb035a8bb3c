package relayproc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The kubelet's pid may be another process's after its end.
func TestIsKubelet(t *testing.T) {
	pid := os.Getpid()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	started, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{o: Options{PID: pid, Started: started}}
	if !p.isKubelet(pid) || p.isKubelet(os.Getppid()) {
		t.Error("the kubelet is not known by its pid alone, or others are taken for it")
	}
	p.o.Started--
	if p.isKubelet(pid) {
		t.Error("a later process is taken for the kubelet")
	}
}
