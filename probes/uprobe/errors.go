//go:build linux

package uprobe

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// errorTypes knows the types of errors by the addresses of their Error methods. An interface's table of methods has
// that address.
type errorTypes struct {
	bias uint64 // how far addresses in the process are above those in the file; names and texts have those of the file
	// names are the types, each with the last part of its package's path.
	names map[uint64]string
	// texts are the ways in which the program in the kernel finds errors' texts.
	texts map[uint64]reading.Wrap
}

func newErrorTypes(p *program, table *memory.Table) *errorTypes {
	t := &errorTypes{names: map[uint64]string{}, texts: map[uint64]reading.Wrap{}}
	for i, symbol := range p.Functions.Names() {
		if !bytes.HasSuffix(symbol, []byte(".Error")) {
			continue
		}
		f, ok := p.Functions.Function(i)
		if name := typeName(string(symbol)); ok && name != "" {
			t.names[f.Entry] = name
		}
	}
	t.findTexts(p, table)
	return t
}

// fixed are the texts of errors whose texts are constant.
var fixed = map[string]string{
	"context.deadlineExceededError": "context deadline exceeded",
}

func (t *errorTypes) findTexts(p *program, table *memory.Table) {
	table.All(func(step string, side memory.Side, name string, v memory.Value) {
		if step != memory.Errors || v.Form == nil || len(v.Form.Hops) > reading.MaxHops {
			return
		}
		w := reading.Wrap{How: reading.WrapText, Hops: uint32(len(v.Form.Hops))}
		if v.Form.Kind == memory.Interface {
			w.How = reading.WrapInner
		}
		for i, h := range v.Form.Hops {
			w.Hop[i] = int32(h.Offset)
		}
		for _, symbol := range methods(name) {
			if f, ok := p.Code(symbol); ok {
				t.texts[f.Entry] = w
			}
		}
	})
}

// wraps returns how the program in the kernel finds errors' texts, by the address of the Error method in the process.
func (t *errorTypes) wraps() map[uint64]reading.Wrap {
	out := map[uint64]reading.Wrap{}
	for at, w := range t.texts {
		out[at+t.bias] = w
	}
	return out
}

// methods returns the symbols that a type's Error method may have: the type's, and the pointer's.
func methods(name string) []string {
	slash := strings.LastIndexByte(name, '/')
	pkg, typ, _ := strings.Cut(name[slash+1:], ".")
	pkg = name[:slash+1] + pkg
	return []string{pkg + "." + typ + ".Error", pkg + ".(*" + typ + ").Error"}
}

var method = regexp.MustCompile(`^(.*?)\.?\(?\*?(\w+)\)?\.Error$`)

// typeName returns the type whose Error method has a symbol; empty: it cannot be known.
func typeName(symbol string) string {
	m := method.FindStringSubmatch(symbol[strings.LastIndexByte(symbol, '/')+1:])
	if m == nil {
		return ""
	}
	return strings.TrimSuffix(m[1], ".") + "." + m[2]
}

// name returns an error's type by the address of its Error method in the process; empty: it cannot be known.
func (t *errorTypes) name(at uint64) string { return t.names[at-t.bias] }

// error returns the error in a source. known is false if it cannot be known whether there is one.
func (t *errorTypes) error(r *reading.Record, s *source) (err error, known bool) {
	if s == nil {
		return nil, false
	}
	at, ok := r.NumberIn(s.slot + 1)
	if !ok {
		return nil, false
	}
	if at == 0 {
		return nil, true
	}
	if text, ok := r.TextIn(s.slot); ok && text != "" {
		return errors.New(text), true
	}
	name := t.name(at)
	if text, ok := fixed[name]; ok {
		return errors.New(text), true
	}
	if name == "" {
		return errors.New("an error whose type and text cannot be read"), true
	}
	return fmt.Errorf("an error of type %s, whose text cannot be read", name), true
}
