package probes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Func is a function as source code names it.
type Func struct {
	// Package is the import path.
	Package string
	// Receiver is the receiver's type name, or "" for a function; Pointer says
	// whether it is *Receiver.
	Receiver string
	Pointer  bool
	Name     string
}

// ParseSymbol takes a linker symbol apart: pkg.Func, pkg.(*Recv).Method or
// pkg.Recv.Method.
func ParseSymbol(symbol string) (Func, error) {
	slash := strings.LastIndexByte(symbol, '/')
	dot := strings.IndexByte(symbol[slash+1:], '.')
	if dot < 0 {
		return Func{}, fmt.Errorf("parse symbol %q: no function after the package", symbol)
	}
	dot += slash + 1
	f := Func{Package: symbol[:dot]}
	recv, name, method := cutLast(symbol[dot+1:], ".")
	if !method {
		f.Name = symbol[dot+1:]
	} else {
		f.Name = name
		f.Receiver = recv
		if star, ok := strings.CutPrefix(recv, "(*"); ok {
			f.Receiver, f.Pointer = strings.CutSuffix(star, ")")
			if !f.Pointer {
				f.Receiver = "" // the bracket is not closed
			}
		}
	}
	if f.Package == "" || f.Name == "" || (method && f.Receiver == "") || strings.ContainsAny(f.Receiver+f.Name, "().") {
		return Func{}, fmt.Errorf("parse symbol %q: want pkg.Func, pkg.(*Recv).Method or pkg.Recv.Method", symbol)
	}
	return f, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Packages returns the steps by the import path of their function. Steps that are no function are left out.
func (c *Catalogue) Packages() map[string][]*Step {
	out := map[string][]*Step{}
	for i := range c.Steps {
		if c.Steps[i].Outside() {
			continue
		}
		// Load has checked the symbols.
		f, _ := ParseSymbol(c.Steps[i].Symbol)
		out[f.Package] = append(out[f.Package], &c.Steps[i])
	}
	return out
}

// PackageHash identifies what weaving depends on in one package: ids, symbols
// and expressions, not the words for people. The agent compares it with what
// was woven, since ids mean nothing under another catalogue.
func (c *Catalogue) PackageHash(path string) string {
	type facts struct {
		ID                    int
		Name, Symbol, Closure string
		Pod                   PodSource
		Fields, Results       []Field
		Quiet                 string
		Skip                  bool   `json:",omitempty"`
		EndBackOff, SyncNow   string `json:",omitempty"`
	}
	var all []facts
	for _, s := range c.Packages()[path] {
		all = append(all, facts{s.ID, s.Name, s.Symbol, s.Closure, s.Pod, s.Fields, s.Results, s.Quiet, s.Skip, s.EndBackOff, s.SyncNow})
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err) // strings and ints always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
