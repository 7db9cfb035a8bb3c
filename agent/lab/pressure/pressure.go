// Package pressure says what the simulated machine of a sim lab has, and what is
// left of it: a person takes it away by writing a file, to see the kubelet's
// eviction manager at work.
package pressure

import (
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts are bytes of memory, bytes of disk, and inodes.
type Amounts struct {
	Memory, Disk, Inodes uint64
}

const gib = 1 << 30

// The machine is the same everywhere, so that what is reported about requests and
// eviction is true on every laptop.
var (
	// Capacity is what the machine has.
	Capacity = Amounts{Memory: 8 * gib, Disk: 100 * gib, Inodes: 6_500_000}
	// Idle is what is left of it as long as nobody takes something away.
	Idle = Amounts{Memory: 6 * gib, Disk: 60 * gib, Inodes: 6_000_000}
)

// Read is what the file leaves. Without a file that is Idle.
func Read(file string) (Amounts, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || file == "" {
		return Idle, nil
	}
	if err != nil {
		return Idle, fmt.Errorf("read pressure file: %w", err)
	}
	left, err := Parse(string(text))
	if err != nil {
		return Idle, fmt.Errorf("read pressure file %s: %w", file, err)
	}
	return left, nil
}

// Write makes text the file, if it can be read. Nothing left to say removes it.
func Write(file, text string) error {
	if _, err := Parse(text); err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove pressure file: %w", err)
		}
		return nil
	}
	// In one go: the kubelet never sees a half.
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		return fmt.Errorf("write pressure file: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write pressure file: %w", err)
	}
	return nil
}

// Parse reads lines such as
//
//	memory.available=50Mi
//	nodefs.available=3%
//
// with the kubelet's names of eviction signals and its quantities, at most what
// the machine has. What no line names stays as it is in Idle. A # begins a
// comment.
func Parse(text string) (Amounts, error) {
	left := Idle
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := left.set(line); err != nil {
			return Idle, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return left, nil
}

// set obeys one line.
func (a *Amounts) set(line string) error {
	signal, value, ok := strings.Cut(line, "=")
	if !ok {
		return fmt.Errorf("%q is not SIGNAL=QUANTITY, such as memory.available=50Mi", line)
	}
	signal = strings.TrimSpace(signal)
	var into *uint64
	var capacity uint64
	switch signal {
	case "memory.available":
		into, capacity = &a.Memory, Capacity.Memory
	case "nodefs.available":
		into, capacity = &a.Disk, Capacity.Disk
	case "nodefs.inodesFree":
		into, capacity = &a.Inodes, Capacity.Inodes
	default:
		return fmt.Errorf("no signal %q: there are memory.available, nodefs.available and nodefs.inodesFree", signal)
	}
	left, err := amount(strings.TrimSpace(value), capacity)
	if err != nil {
		return fmt.Errorf("%s: %w", signal, err)
	}
	*into = left
	return nil
}

// quantity is what of the kubelet's quantities makes sense here. The others,
// such as 1e999999999, overflow.
var quantity = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,3})?([kMGT]|[KMGT]i)?$`)

// amount reads a quantity, or a percentage of capacity.
func amount(value string, capacity uint64) (uint64, error) {
	number, isPercent := strings.CutSuffix(value, "%")
	q, err := resource.ParseQuantity(number)
	if err != nil || !quantity.MatchString(number) {
		return 0, fmt.Errorf("%q is no quantity, such as 50Mi or 3%%", value)
	}
	n := big.NewInt(q.Value())
	if isPercent {
		n.Mul(big.NewInt(q.MilliValue()), new(big.Int).SetUint64(capacity))
		n.Div(n, big.NewInt(100*1000))
	}
	if q.Sign() < 0 || n.Cmp(new(big.Int).SetUint64(capacity)) > 0 {
		return 0, fmt.Errorf("%s is not between 0 and the %d that the node has", value, capacity)
	}
	return n.Uint64(), nil
}
