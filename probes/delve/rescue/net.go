//go:build linux && amd64

package rescue

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/ptrace"
)

// A net is a piece of the kubelet's memory: a page with code, at whose end is magic, and pages with data. The
// handler's code has the same offsets.
const (
	codeSize = 4096
	netSize  = codeSize + 64<<10
	magic    = "podstep's net 1\n"
	magicAt  = codeSize - uintptr(len(magic))

	dataOld     = 16 // the action of SIGTRAP before: handler, flags, restorer, mask
	dataTries   = 48 // how often the handler may yet find that nobody writes a byte back
	dataCount   = 56 // of entries
	dataPath    = 64
	dataEntries = 80
	// An entry has the address of an instruction, its length, and its bytes.
	entrySize   = 32
	mostLength  = 15 // of an instruction
	mostEntries = (netSize - codeSize - dataEntries) / entrySize

	memPath = "/proc/self/mem\x00"
	int3    = 0xcc
	nop     = 0x90
)

// tries is so many that the handler gives up after some seconds. After half of them it writes the bytes back itself.
var tries uint64 = 1 << 20

// Net is a net below a process.
type Net struct {
	pid   int
	at    uint64 // its address
	image *image
	// entries has the bytes of the instructions at the net's places, by their addresses.
	entries map[uint64][]byte
}

// action is the kernel's sigaction on amd64.
type action struct{ Handler, Flags, Restorer, Mask uint64 }

const (
	actionSize = 32
	sigsetSize = 8
	// flags are SA_SIGINFO, SA_RESTORER, SA_ONSTACK and SA_RESTART: goroutines' stacks are small.
	flags = 0x4 | 0x04000000 | 0x08000000 | 0x10000000
)

// Install puts a net below a process, or adopts the one that is there. No other process may trace the process.
func Install(pid int) (*Net, error) {
	n, err := open(pid)
	if err != nil {
		return nil, fmt.Errorf("put a net below process %d: %w", pid, err)
	}
	if n.at, err = find(pid); err == nil && n.at == 0 {
		err = withAny(pid, n.install)
	} else if err == nil {
		err = n.readEntries()
	}
	if err != nil {
		n.image.close()
		return nil, fmt.Errorf("put a net below process %d: %w", pid, err)
	}
	return n, nil
}

// Find returns the net below a process that nobody has taken away; nil: there is none.
func Find(pid int) (*Net, error) {
	at, err := find(pid)
	if err != nil || at == 0 {
		return nil, err
	}
	n, err := open(pid)
	if err != nil {
		return nil, err
	}
	n.at = at
	if err := n.readEntries(); err != nil {
		n.image.close()
		return nil, err
	}
	return n, nil
}

func open(pid int) (*Net, error) {
	image, err := openImage(pid)
	if err != nil {
		return nil, err
	}
	return &Net{pid: pid, image: image, entries: map[uint64][]byte{}}, nil
}

func (n *Net) data() uint64 { return n.at + codeSize }

// install makes the memory of the net, and then the action of SIGTRAP.
func (n *Net) install(t *tracee) (err error) {
	if n.at, err = t.syscall(n.image.call, unix.SYS_MMAP, 0, netSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0); err != nil {
		return fmt.Errorf("make memory: %w", err)
	}
	if err = n.prepare(t); err != nil {
		_, gone := t.syscall(n.image.call, unix.SYS_MUNMAP, n.at, netSize)
		return errors.Join(err, gone)
	}
	return nil
}

func (n *Net) prepare(t *tracee) error {
	code, restorer, err := handlerCode(n.data())
	if err != nil {
		return err
	}
	head := make([]byte, dataEntries)
	binary.LittleEndian.PutUint64(head[dataTries:], tries)
	copy(head[dataPath:], memPath)
	for at, b := range map[uint64][]byte{n.at: code, n.at + uint64(magicAt): []byte(magic), n.data(): head} {
		if err := n.image.write(at, b); err != nil {
			return err
		}
	}
	if _, err := t.syscall(n.image.call, unix.SYS_MPROTECT, n.at, codeSize, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		return fmt.Errorf("make the net's code executable (a security module may forbid it): %w", err)
	}
	ours := action{n.at, flags, n.at + restorer, ^uint64(0)}
	// The old action is in the data before the new one counts: first it is asked for, then both are exchanged.
	if err := n.setAction(t, nil, n.data()+dataOld); err != nil {
		return err
	}
	return n.setAction(t, &ours, 0)
}

// setAction sets the action of SIGTRAP, if there is one to set. The kernel writes the one before to old, if that is
// not 0.
func (n *Net) setAction(t *tracee, to *action, old uint64) error {
	var at uint64
	if to != nil {
		at = n.data() + dataEntries + (mostEntries-1)*entrySize // not in use
		var b [actionSize]byte
		for i, v := range []uint64{to.Handler, to.Flags, to.Restorer, to.Mask} {
			binary.LittleEndian.PutUint64(b[8*i:], v)
		}
		if err := n.image.write(at, b[:]); err != nil {
			return err
		}
	}
	if _, err := t.syscall(n.image.call, unix.SYS_RT_SIGACTION, uint64(unix.SIGTRAP), at, old, sigsetSize); err != nil {
		return fmt.Errorf("set the action of SIGTRAP: %w", err)
	}
	return nil
}

// find returns the address of a net of podstep's below a process; 0: there is none.
func find(pid int) (uint64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, fmt.Errorf("look for a net below process %d: %w", pid, err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var from, to, offset, inode uint64
		var rights, device string
		if k, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %x %s %d", &from, &to, &rights, &offset, &device, &inode); k != 6 || inode != 0 || !strings.HasPrefix(rights, "r-x") {
			continue
		}
		for at := from; at < to && to-from <= netSize; at += codeSize { // the kernel puts neighbours together
			var b [len(magic)]byte
			if park.ReadMemory(pid, at+uint64(magicAt), b[:]) == nil && string(b[:]) == magic {
				return at, nil
			}
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("look for a net below process %d: %w", pid, err)
	}
	return 0, nil
}

// readEntries reads the places of a net that is there.
func (n *Net) readEntries() error {
	b := make([]byte, netSize-codeSize)
	if err := park.ReadMemory(n.pid, n.data(), b); err != nil {
		return err
	}
	count := binary.LittleEndian.Uint64(b[dataCount:])
	if count > mostEntries || !bytes.HasPrefix(b[dataPath:], []byte(memPath)) {
		return fmt.Errorf("the net below process %d is not as podstep made it", n.pid)
	}
	for i := range int(count) {
		entry := b[dataEntries+i*entrySize:]
		if entry[8] == 0 || entry[8] > mostLength {
			return fmt.Errorf("the net below process %d is not as podstep made it", n.pid)
		}
		n.entries[binary.LittleEndian.Uint64(entry)] = bytes.Clone(entry[9 : 9+entry[8]])
	}
	return nil
}

// Add puts places into the net: addresses of the process at which a breakpoint may be set from now on. Those that are
// in it stay. It fails for instructions of one byte, unless short allows them.
func (n *Net) Add(places []uint64, short bool) error {
	for _, at := range places {
		if _, there := n.entries[at]; there {
			continue
		}
		i := len(n.entries)
		if i >= mostEntries-2 { // setAction uses the last ones
			return fmt.Errorf("the net below process %d has room for %d places: end podstep, and attach again", n.pid, i)
		}
		code, err := n.image.instruction(at)
		if err != nil {
			return err
		}
		if len(code) == 1 && code[0] != nop && !short {
			return fmt.Errorf("the instruction at %#x is too short for a breakpoint", at)
		}
		var entry [entrySize]byte
		binary.LittleEndian.PutUint64(entry[:], at)
		entry[8] = byte(len(code))
		copy(entry[9:], code)
		if err := n.image.write(n.data()+dataEntries+uint64(i*entrySize), entry[:]); err != nil {
			return err
		}
		n.entries[at] = code
	}
	count := binary.LittleEndian.AppendUint64(nil, uint64(len(n.entries)))
	return n.image.write(n.data()+dataCount, count)
}

// Freeze stops the process, if a tracer that is about to end still traces it. Then no thread runs before the instructions
// are written back. Otherwise a thread that the tracer has seen at a breakpoint, and has not set back, may take a signal
// while it stands behind the first byte, and come back there after the bytes are written back.
func (n *Net) Freeze(tracer int) {
	all, err := ptrace.Threads(n.pid)
	if err != nil || !slices.ContainsFunc(all, func(tid int) bool { return park.TracerOf(n.pid, tid) == tracer }) {
		return
	}
	for _, tid := range all {
		// Of the signals that are pending for a thread, those of its own come first, and of these the lowest number: before
		// SIGURG, by which Go preempts goroutines.
		_ = unix.Tgkill(n.pid, tid, unix.SIGSTOP)
	}
}

// Spread fills all instructions that have a breakpoint with INT3s. A thread that its dying tracer has seen at a
// breakpoint, and has not set back, goes on behind the first byte, without a signal. It then comes into the net too.
func (n *Net) Spread() error {
	var errs []error
	for at, code := range n.entries {
		var now [1]byte
		if park.ReadMemory(n.pid, at, now[:]) == nil && now[0] == int3 && code[0] != int3 {
			errs = append(errs, n.image.write(at, bytes.Repeat([]byte{int3}, len(code))))
		}
	}
	return errors.Join(errs...)
}

// Remove writes all instructions back and takes the net away, while all threads stand still. It fails while another
// process traces the process; then it can be called again.
func (n *Net) Remove() error { return n.whileStill(n.remove) }

// WriteBack writes all instructions back, as Remove does, and leaves the net.
func (n *Net) WriteBack() error { return n.whileStill(n.writeBack) }

// whileStill calls do while all threads stand still, again and again until none of them stands where it must not.
func (n *Net) whileStill(do func([]*tracee) error) (err error) {
	for range stillTries {
		if err = withAll(n.pid, do); !errors.Is(err, errInside) {
			break
		}
		time.Sleep(time.Millisecond) // the thread needs a processor to go on
	}
	if err != nil {
		return fmt.Errorf("take the net below process %d away: %w", n.pid, err)
	}
	return nil
}

// Close lets go of the process's program. The net stays.
func (n *Net) Close() { n.image.close() }

// stillTries is how often all threads are stopped to find none in the net.
const stillTries = 200

// errInside: a thread is in the net, or is about to come into it.
var errInside = errors.New("a thread is in it")

// remove writes the instructions back first: as long as there is an INT3, threads come into the net.
func (n *Net) remove(all []*tracee) error {
	if err := n.writeBack(all); err != nil {
		return err
	}
	for _, t := range all {
		if t.saved.Rip >= n.at && t.saved.Rip < n.at+codeSize || t.trapPending() {
			return errInside
		}
	}
	t := chooseCaller(all)
	if err := n.giveActionBack(t); err != nil {
		return err
	}
	_, err := t.syscall(n.image.call, unix.SYS_MUNMAP, n.at, netSize)
	return err
}

// writeBack writes all instructions back that have an INT3. A thread in the handler sees that, and repeats its
// instruction.
func (n *Net) writeBack(all []*tracee) error {
	behind := map[*tracee]uint64{} // threads, with the instruction whose first byte they are behind
	for at, code := range n.entries {
		for _, t := range all {
			if t.saved.Rip <= at || t.saved.Rip >= at+uint64(len(code)) {
				continue
			}
			if t.trapPending() {
				return errInside // the signal may be of the INT3 or of Delve
			}
			behind[t] = at
		}
	}
	// If this process dies in between, a thread that goes on finds INT3s where it stands, or stands where it should.
	for t, at := range behind {
		if err := t.setBack(at); err != nil {
			return err
		}
	}
	for at, code := range n.entries {
		var now [mostLength]byte
		if err := park.ReadMemory(n.pid, at, now[:len(code)]); err != nil {
			return err
		}
		if now[0] == int3 && !bytes.Equal(now[:len(code)], code) {
			if err := n.image.write(at, code); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveActionBack sets the action of SIGTRAP that was there before, unless the program has set another one since.
func (n *Net) giveActionBack(t *tracee) error {
	now := n.data() + dataEntries + (mostEntries-2)*entrySize // not in use
	if err := n.setAction(t, nil, now); err != nil {
		return err
	}
	var b [2][actionSize]byte
	if err := park.ReadMemory(n.pid, now, b[0][:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint64(b[0][:]) != n.at {
		return nil
	}
	if err := park.ReadMemory(n.pid, n.data()+dataOld, b[1][:]); err != nil {
		return err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[1][8*i:]) }
	return n.setAction(t, &action{word(0), word(1), word(2), word(3)}, 0)
}
