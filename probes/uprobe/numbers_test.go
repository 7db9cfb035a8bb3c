//go:build linux && amd64

package uprobe

import (
	"bytes"
	"debug/elf"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/podstep/podstep/probes/inside/goproc"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/pclntab"
)

// TestNumbers: the highest number of a goroutine is found in a running program, this one.
func TestNumbers(t *testing.T) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	table, text, err := pclntab.Open(file, data)
	if err != nil {
		t.Fatal(err)
	}
	own, err := newImage(file, table, text)
	if err != nil {
		t.Fatal(err)
	}
	at, ok := own.numbersAt()
	if !ok {
		t.Fatalf("%s takes no numbers in a way that is known, of %s", maker, runtime.Version())
	}
	bias, err := goproc.Bias(os.Getpid(), &file.FileHeader)
	if err != nil {
		t.Fatal(err)
	}
	r := reading.NewReader(reading.Plan{Numbers: at + bias}, func(at uint64, b []byte) error { return park.ReadMemory(os.Getpid(), at, b) })
	before := r.Goroutines()
	const more = 1000
	var all sync.WaitGroup
	for range more {
		all.Go(func() {})
	}
	all.Wait()
	slack := uint64(numbersTaken * runtime.GOMAXPROCS(0))
	if after := r.Goroutines(); before == 0 || after < before+more-slack {
		t.Errorf("the highest number was %d, and is %d after %d more", before, after, more)
	}
}
