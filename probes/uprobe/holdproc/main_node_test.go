//go:build node && (amd64 || arm64)

package holdproc

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	uprobes "github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/toy"
)

// These tests need root: they trace a program that they build, and a probe in the kernel chooses its goroutines.

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Role {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// trigger is a probe at one place of a program. It stops a thread behind the place if the number in the register of
// its first argument is wanted.
type trigger struct {
	t      testing.TB
	wanted *ebpf.Map
}

const (
	nobody   = -1
	everyone = -2
)

// newTrigger puts a probe at an address of the process's program.
func newTrigger(t testing.TB, pid int, address uint64) *trigger {
	t.Helper()
	if err := rlimit.RemoveMemlock(); err != nil {
		t.Fatal(err)
	}
	wanted, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wanted.Close() })
	g := &trigger{t, wanted}
	g.want(nobody, false)
	const once = 8 // the value's bit for stopping once
	// Where the register of the first argument is in the context.
	first := map[string]int16{"amd64": 80, "arm64": 0}[runtime.GOARCH]
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL", Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R2, 0),
		asm.StoreMem(asm.RFP, -4, asm.R2, asm.Word),
		asm.LoadMapPtr(asm.R1, wanted.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R7, asm.R0, 0, asm.DWord),
		asm.JEq.Imm(asm.R7, everyone, "send"),
		asm.LoadMem(asm.R8, asm.R6, first, asm.DWord),
		asm.JNE.Reg(asm.R7, asm.R8, "out"),
		asm.LoadMem(asm.R8, asm.R0, once, asm.DWord),
		asm.JEq.Imm(asm.R8, 0, "send"),
		asm.Mov.Imm(asm.R8, nobody),
		asm.StoreMem(asm.R0, 0, asm.R8, asm.DWord),
		asm.Mov.Imm(asm.R1, int32(park.Signal)).WithSymbol("send"),
		asm.FnSendSignalThread.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	name := filepath.Join("/proc", strconv.Itoa(pid), "exe")
	exe, err := uprobes.OpenExecutable(name)
	if err != nil {
		t.Fatal(err)
	}
	probe, err := exe.Uprobe("", program, &uprobes.UprobeOptions{Address: offset(t, name, address), PID: pid})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { probe.Close() })
	return g
}

// offset returns where in a program's file an address is.
func offset(t testing.TB, name string, address uint64) uint64 {
	file, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && address < p.Vaddr+p.Filesz {
			return address - p.Vaddr + p.Off
		}
	}
	t.Fatalf("%#x is not in %s", address, name)
	return 0
}

// want chooses the goroutines of a worker, all of them or one.
func (g *trigger) want(worker int64, once bool) {
	g.t.Helper()
	value := [2]int64{worker}
	if once {
		value[1] = 1
	}
	if err := g.wanted.Put(uint32(0), value); err != nil {
		g.t.Fatal(err)
	}
}

// client is a hold process's client, with what the process has reported.
type client struct {
	*Client
	t       testing.TB
	held    chan inside.Held
	refused chan inside.Refused
	ended   chan inside.Ended
	failed  chan error
}

func startClient(t testing.TB, pid int) *client {
	t.Helper()
	const many = 1 << 16
	c := &client{t: t, held: make(chan inside.Held, many), refused: make(chan inside.Refused, many), ended: make(chan inside.Ended, many), failed: make(chan error, 1)}
	var err error
	c.Client, err = Start(t.Context(), Options{PID: pid, Packages: map[string]bool{"main": true}}, nil, Handler{
		Held: func(h inside.Held) { c.held <- h }, Refused: func(r inside.Refused) { c.refused <- r },
		Ended: func(e inside.Ended) { c.ended <- e }, Failed: func(err error) { c.failed <- err },
		Lost: func(n int) { t.Errorf("%d reports are lost", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Client.Close)
	return c
}

// arm arms the entry of the toy's step.
func (c *client) arm(place park.Place, lease time.Duration) {
	c.t.Helper()
	refused, err := c.Arm(context.Background(), []inside.Place{{
		Address: place.Address, Within: []string{"main.podWorkerLoop"}, NotWithin: []string{"main.locked"}, Lease: lease,
	}})
	if err != nil || len(refused) > 0 {
		c.t.Fatal(err, refused)
	}
}

// next returns the next report on a channel.
func next[T any](t testing.TB, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		t.Fatalf("no %s was reported", what)
	}
	return v
}

// setup starts a toy with a trigger at its step's entry, and a hold process.
func setup(t testing.TB, version string, o toy.Options) (*toy.Toy, *trigger, *client, park.Place) {
	t.Helper()
	y := toy.Start(t, toy.Build(t, version), o)
	place := entry(t, y.PID, "main.step")
	return y, newTrigger(t, y.PID, place.Address), startClient(t, y.PID), place
}

func entry(t testing.TB, pid int, function string) park.Place {
	t.Helper()
	p, err := park.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	place, why := p.Entry(function)
	if why != nil {
		t.Fatal(why)
	}
	return place
}

// command starts a program, which the test ends.
func command(t testing.TB, name string, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}
