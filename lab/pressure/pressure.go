// Package pressure states what resources the simulated machine of a sim lab has, and how much of them is left. A
// person takes resources away by writing a file, to see the kubelet's eviction manager at work.
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

// The machine is the same everywhere, so that reports about requests and eviction are true on every laptop.
var (
	// Capacity is what the machine has.
	Capacity = Amounts{Memory: 8 * gib, Disk: 100 * gib, Inodes: 6_500_000}
	// Idle is what is left as long as nobody takes anything away.
	Idle = Amounts{Memory: 6 * gib, Disk: 60 * gib, Inodes: 6_000_000}
)

// Read returns what the file leaves. Without a file it returns Idle.
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

// Write writes text to the file, if it can be parsed. An empty text removes the file.
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
	// The file is replaced at once: the kubelet never reads half of it.
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
// with the kubelet's names of eviction signals and its quantities, at most what the machine has. Resources that no
// line names stay as in Idle. A # begins a comment.
func Parse(text string) (Amounts, error) {
	left := Idle
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := left.setLine(line); err != nil {
			return Idle, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return left, nil
}

// setLine sets what one line states.
func (a *Amounts) setLine(line string) error {
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

// quantity matches those of the kubelet's quantities that make sense here. The others, such as 1e999999999, overflow.
var quantity = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,3})?([kMGT]|[KMGT]i)?$`)

// amount parses a quantity, or a percentage of capacity.
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
