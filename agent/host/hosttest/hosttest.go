// Package hosttest puts the real agent behind the hook of a test program of the kubelet, with all steps on, and counts
// the calls. A file that is added to each tested package calls it.
//
// The counts are in a mapped file: they outlive a test program that crashes, or that leaves by os.Exit, and no test
// needs to know about them.
package hosttest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/host"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// Env names the folder for the counts.
const Env = "PODSTEP_HARMLESS_COUNTS"

// Counts are the counts of one test program's hook.
type Counts struct {
	// Woven reports, by step id, whether the step was woven into the program.
	Woven [hook.MaxSteps]bool
	// Calls counts calls by step id.
	Calls [hook.MaxSteps]uint64
	// Left counts the calls that were left.
	Left uint64
	// Panics counts panics of the agent, which must not have any.
	Panics uint64
	// Faults counts all that the hook caught: panics of the agent, and nil pointers in the values of steps.
	Faults uint64
}

const size = int(unsafe.Sizeof(Counts{}))

// Start puts the agent behind the hook of the test program of that package. It must be called after the woven packages
// are initialised: they report then what was woven.
func Start(pkg string) {
	dir := os.Getenv(Env)
	if dir == "" {
		return
	}
	counts, err := mapCounts(fileOf(dir, pkg))
	if err != nil {
		panic(err)
	}
	c, err := probes.Load()
	if err != nil {
		panic(err)
	}
	steps, err := host.Woven(c)
	if err != nil {
		panic(err)
	}
	if err := counts.noteWoven(); err != nil {
		panic(err)
	}
	seen := probes.Abilities{Probe: "woven", Steps: map[string]probes.Ability{}}
	for name := range steps.Seen {
		seen.Steps[name] = probes.Everything()
	}
	a, err := agent.New(steps.Catalogue, agent.Options{Version: version.Own(), Node: "harmless", Probes: []probes.Abilities{seen}})
	if err != nil {
		panic(err)
	}
	a.Attach()
	hook.Set(counter{a, counts})
}

// noteWoven notes the steps that are in this program.
func (c *Counts) noteWoven() error {
	packages, err := hook.Woven()
	for _, p := range packages {
		for _, s := range p.Steps {
			c.Woven[s.ID] = true
		}
	}
	return err
}

// Read returns the counts of a package's test program. They are zero if it did not start the agent.
func Read(dir, pkg string) (c Counts, err error) {
	f, err := os.Open(fileOf(dir, pkg))
	if os.IsNotExist(err) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read counts: %w", err)
	}
	defer f.Close()
	if err := binary.Read(f, binary.NativeEndian, &c); err != nil {
		return c, fmt.Errorf("read counts of %s: %w", pkg, err)
	}
	return c, nil
}

func fileOf(dir, pkg string) string { return filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")) }

// mapCounts maps the file of the counts. A test program that runs itself again adds to them.
func mapCounts(name string) (*Counts, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("keep counts: %w", err)
	}
	defer f.Close() // the mapping stays
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("keep counts: %w", err)
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("keep counts: %w", err)
	}
	return (*Counts)(unsafe.Pointer(&mem[0])), nil
}

// counter counts the calls of the agent.
type counter struct {
	agent  *agent.Agent
	counts *Counts
}

func (c counter) Enter(step int, cur *hook.Span, values hook.Values) (*hook.Span, error) {
	atomic.AddUint64(&c.counts.Calls[step], 1)
	defer c.after()
	return c.agent.Enter(step, cur, values)
}

func (c counter) Leave(span *hook.Span, how hook.Outcome, err error, values hook.Values) {
	atomic.AddUint64(&c.counts.Left, 1)
	defer c.after()
	c.agent.Leave(span, how, err, values)
}

// after counts a panic of the agent before the hook catches it.
func (c counter) after() {
	if r := recover(); r != nil {
		atomic.AddUint64(&c.counts.Panics, 1)
		fmt.Fprintf(os.Stderr, "podstep: the agent panics: %v\n", r)
		panic(r)
	}
	atomic.StoreUint64(&c.counts.Faults, hook.Faults())
}
