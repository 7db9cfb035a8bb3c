package memory

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/podstep/podstep/probes"
)

//go:embed v*.tsv
var tables embed.FS

// Table is how the fields of the catalogue are read in kubelets of one minor
// version.
type Table struct {
	// Version is the Kubernetes version whose types the table was made from. Catalogue identifies the expressions
	// that its forms stand for.
	Version, Catalogue string
	// Near: the table is of another minor version than the kubelet that it was asked for. It has only what podstep can
	// hold against what it knows from elsewhere: see Nearest.
	Near   bool
	values map[key]Value
}

// key names a value.
type key struct {
	step, name string
	side       Side
}

// Value is the form of a value, or why it has none.
type Value struct {
	Form *Form
	// Words stand in place of a form where there is nothing to read: see When and Symbol.
	Words string
	// None is the reason why there is neither.
	None Reason
}

// Value returns a value of a step. At Enter its name is that of a field of the catalogue, at Exit that of a result,
// at Pod one of the constants. ok is false if the table has no such value.
func (t *Table) Value(step string, side Side, name string) (v Value, ok bool) {
	v, ok = t.values[key{step, name, side}]
	return v, ok
}

// Locks returns the symbols of the kubelet's functions that take a lock, by the source that the table was made
// from.
func (t *Table) Locks() (symbols []string) {
	t.All(func(step string, side Side, name string, _ Value) {
		if step == Locks && side == Symbol {
			symbols = append(symbols, name)
		}
	})
	return symbols
}

// All visits all values, by step, side and name.
func (t *Table) All(visit func(step string, side Side, name string, v Value)) {
	keys := slices.SortedFunc(maps.Keys(t.values), func(a, b key) int {
		return strings.Compare(a.step+"\t"+string(a.side)+"\t"+a.name, b.step+"\t"+string(b.side)+"\t"+b.name)
	})
	for _, k := range keys {
		visit(k.step, k.side, k.name, t.values[k])
	}
}

// Minors returns the minor versions that there are tables for, such as v1.36.
func Minors() []string {
	names, err := fs.Glob(tables, "v*.tsv")
	if err != nil {
		panic(err) // the pattern is good
	}
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], ".tsv")
	}
	return names
}

var minor = regexp.MustCompile(`^v\d+\.\d+`)

// ErrNoTable is returned if there is no table for kubelets of a version.
var ErrNoTable = errors.New("no table of where values lie")

// For returns the table for a kubelet of a version such as v1.36.3. The error is ErrNoTable if there is none.
func For(version string) (*Table, error) {
	m := minor.FindString(version)
	load, ok := loaded()[m]
	if m == "" || !ok {
		return nil, fmt.Errorf("find values in kubelet %s: %w; there are %s", version, ErrNoTable, strings.Join(Minors(), ", "))
	}
	return load()
}

// Nearest is For, and also serves a kubelet of a minor version without a table, or of no version that can be read, such
// as one that is built from a working tree. For that it takes the table of the nearest minor version, the newest if
// there is none to be near to, and keeps what shows itself to be right or wrong: which pod a call is about, because
// podstep knows the pods of the node from elsewhere. All other values have the reason Unproven.
func Nearest(version string) (*Table, error) {
	if t, err := For(version); err == nil || !errors.Is(err, ErrNoTable) {
		return t, err
	}
	all := minorNumbers()
	near := all[len(all)-1]
	if m := numbered.FindStringSubmatch(version); m != nil {
		n, _ := strconv.Atoi(m[1])
		near = slices.MinFunc(all, func(a, b int) int { return max(a-n, n-a) - max(b-n, n-b) })
	}
	t, err := For("v1." + strconv.Itoa(near))
	if err != nil {
		return nil, err
	}
	return t.near(), nil
}

// numbered matches the versions that can be near to others.
var numbered = regexp.MustCompile(`^v1\.(\d{1,4})(\D|$)`)

// minorNumbers returns the numbers of the minor versions that there are tables for, sorted.
func minorNumbers() []int {
	var out []int
	for _, m := range Minors() {
		n, err := strconv.Atoi(strings.TrimPrefix(m, "v1."))
		if err != nil {
			panic(err) // a table has another name than cmd/gen gives
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// near returns the table as it serves a kubelet of another minor version.
func (t *Table) near() *Table {
	out := t.Without(func(_ string, side Side, _ Value) Reason {
		if side == Pod || side == Symbol {
			return ""
		}
		return Unproven
	})
	out.Near = true
	return out
}

// Without returns the table without the values for which why has a reason.
func (t *Table) Without(why func(step string, side Side, v Value) Reason) *Table {
	out := &Table{Version: t.Version, Catalogue: t.Catalogue, Near: t.Near, values: make(map[key]Value, len(t.values))}
	for k, v := range t.values {
		if v.None == "" {
			if r := why(k.step, k.side, v); r != "" {
				v = Value{None: r}
			}
		}
		out.values[k] = v
	}
	return out
}

// loaded reads each table once, when it is asked for.
var loaded = sync.OnceValue(func() map[string]func() (*Table, error) {
	out := map[string]func() (*Table, error){}
	for _, m := range Minors() {
		out[m] = sync.OnceValues(func() (*Table, error) {
			b, err := tables.ReadFile(m + ".tsv")
			if err != nil {
				return nil, fmt.Errorf("read table %s: %w", m, err)
			}
			return Parse(string(b))
		})
	}
	return out
})

// head is the first line of a table.
var head = regexp.MustCompile(`^# Generated by cmd/gen from Kubernetes (v\S+) and catalogue (\w+)\. Do not edit\.$`)

// Format writes a table as Parse reads it, a value a line.
func Format(version, catalogue string, lines []string) string {
	return fmt.Sprintf("# Generated by cmd/gen from Kubernetes %s and catalogue %s. Do not edit.\n%s\n", version, catalogue, strings.Join(lines, "\n"))
}

// Line writes a value as a line of a table.
func Line(step string, side Side, name string, v Value) string {
	switch {
	case v.Words != "":
		return strings.Join([]string{step, string(side), name, "words", v.Words}, "\t")
	case v.Form == nil:
		return strings.Join([]string{step, string(side), name, "none", string(v.None)}, "\t")
	}
	f := v.Form
	kind, place := string(f.Kind), f.AMD64.String()
	for _, n := range slices.Sorted(maps.Keys(f.Names)) {
		kind += fmt.Sprintf(" %d=%s", n, f.Names[n])
	}
	if f.Zero {
		kind += " zero"
	}
	if f.ARM64 != f.AMD64 {
		place += " " + f.ARM64.String()
	}
	cols := []string{step, string(side), name, kind, f.From, place}
	for _, h := range f.Hops {
		cols = append(cols, fmt.Sprintf("%s:%s+%d", h.Type, h.Members, h.Offset))
	}
	return strings.Join(cols, "\t")
}

// Parse reads a table.
func Parse(text string) (*Table, error) {
	t := &Table{values: map[key]Value{}}
	first, rest, _ := strings.Cut(text, "\n")
	rest, ended := strings.CutSuffix(rest, "\n")
	m := head.FindStringSubmatch(first)
	if m == nil || !ended {
		return nil, errors.New("parse table: it does not begin or end as one does")
	}
	t.Version, t.Catalogue = m[1], m[2]
	for i, line := range strings.Split(rest, "\n") {
		k, v, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("parse table: line %d: %w", i+2, err)
		}
		if _, twice := t.values[k]; twice {
			return nil, fmt.Errorf("parse table: line %d: %s %s %s is there twice", i+2, k.step, k.side, k.name)
		}
		t.values[k] = v
	}
	return t, nil
}

func parseLine(line string) (k key, v Value, err error) {
	cols := strings.Split(line, "\t")
	if len(cols) < 5 {
		return k, v, errors.New("too short")
	}
	k = key{step: cols[0], side: Side(cols[1]), name: cols[2]}
	if cols[3] == "none" {
		v.None = Reason(cols[4])
		if Reasons[v.None] == (probes.Text{}) || len(cols) != 5 {
			return k, v, fmt.Errorf("there is no reason %q", v.None)
		}
		return k, v, nil
	}
	if cols[3] == "words" {
		v.Words = cols[4]
		if v.Words == "" || len(cols) != 5 {
			return k, v, errors.New("no words")
		}
		return k, v, nil
	}
	if len(cols) < 6 {
		return k, v, errors.New("too short for a form")
	}
	f := &Form{From: cols[4]}
	if err := f.parseKind(cols[3]); err != nil {
		return k, v, err
	}
	if err := f.parsePlaces(cols[5]); err != nil {
		return k, v, err
	}
	for _, s := range cols[6:] {
		h, err := parseHop(s)
		if err != nil {
			return k, v, err
		}
		f.Hops = append(f.Hops, h)
	}
	v.Form = f
	return k, v, nil
}

func (f *Form) parseKind(s string) error {
	words := strings.Split(s, " ")
	f.Kind = Kind(words[0])
	for _, w := range words[1:] {
		n, name, enum := strings.Cut(w, "=")
		number, err := strconv.ParseInt(n, 10, 64)
		switch {
		case w == "zero":
			f.Zero = true
		case !enum || err != nil:
			return fmt.Errorf("kind %q", s)
		case f.Names == nil:
			f.Names = map[int64]string{number: name}
		default:
			f.Names[number] = name
		}
	}
	return nil
}

func (f *Form) parsePlaces(s string) error {
	amd64, arm64, two := strings.Cut(s, " ")
	if !two {
		arm64 = amd64
	}
	for _, p := range []struct {
		text string
		into *Place
	}{{amd64, &f.AMD64}, {arm64, &f.ARM64}} {
		if len(p.text) < 2 || !strings.ContainsAny(p.text[:1], "rsoe") {
			return fmt.Errorf("place %q", s)
		}
		n, err := strconv.Atoi(p.text[1:])
		if err != nil {
			return fmt.Errorf("place %q: %w", s, err)
		}
		*p.into = Place{In(p.text[0]), n}
	}
	return nil
}

func parseHop(s string) (Hop, error) {
	way, offset, ok := strings.Cut(s, "+")
	typ, members, ok2 := strings.Cut(way, ":")
	n, err := strconv.Atoi(offset)
	if !ok || !ok2 || err != nil {
		return Hop{}, fmt.Errorf("hop %q", s)
	}
	return Hop{typ, members, n}, nil
}
