// Package source has the kubelet's own source at each step of the catalogue, so
// that it can be shown on a machine that has none: the function with its
// comment, and the lines in it from which other steps are called.
//
// The data is generated from the version of the kubelet that the catalogue was
// read from. It is Kubernetes' code, under the Apache License 2.0; NOTICE in the
// root of the repository says so too.
package source

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:generate go -C ../.. run ./cmd/gen source
//go:generate go -C ../.. run ./cmd/gen sums

//go:embed excerpts.json.gz
var packed []byte

// MaxLines is how many lines an excerpt may have. Nearly all steps fit in whole.
const MaxLines = 400

// Excerpt is the source of one step's function.
type Excerpt struct {
	// Module and Version are where it is from, such as k8s.io/kubernetes
	// v1.36.3; File is relative to the module.
	Module, Version, File string
	// Line is the number of the first of Lines, from 1. Func is the line where
	// the function itself begins, after its comment.
	Line, Func int
	// Lines are the comment and the function, with tabs.
	Lines []string
	// Cut reports that the function goes on after the last of Lines.
	Cut bool

	calls map[string][]int
}

// Calls returns the numbers of the lines that lead to the step callee: calls of its function or, if there are none,
// of functions that come to it. They are in order. There are none for a step that is reached in another way.
func (e Excerpt) Calls(callee string) []int { return e.calls[callee] }

// Callees returns the steps to which lines of the function lead, in the order of their first lines.
func (e Excerpt) Callees() []string {
	return slices.SortedFunc(maps.Keys(e.calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(e.calls[a][0], e.calls[b][0]), cmp.Compare(a, b))
	})
}

// Of returns the source of a step.
func Of(step string) (Excerpt, bool) {
	e, ok := load()[step]
	return e, ok
}

// At returns the source of the step's function that has a line. function is its symbol, or that of a literal in it.
// file is where a kubelet's build had the source.
func At(function, file string, line int) (Excerpt, bool) {
	slash := strings.LastIndexByte(function, '/') + 1
	name, in, _ := strings.Cut(function[slash:], ".")
	in, _, _ = strings.Cut(strings.TrimPrefix(in[strings.IndexByte(in, ')')+1:], "."), ".")
	for _, e := range load() {
		inFile := function[:slash]+name+"/"+path.Base(file) == e.Module+"/"+e.File
		if inFile && line >= e.Line && line < e.Line+len(e.Lines) && in != "" && strings.Contains(e.Lines[e.Func-e.Line], in+"(") {
			return e, true
		}
	}
	return Excerpt{}, false
}

// Data is the generated file.
type Data struct {
	// Notice states whose code it is.
	Notice string `json:"notice"`
	// Versions are the modules' versions.
	Versions map[string]string `json:"versions"`
	Steps    map[string]Entry  `json:"steps"`
}

// Entry is an excerpt as it is in the file.
type Entry struct {
	Module string           `json:"module"`
	File   string           `json:"file"`
	Line   int              `json:"line"`
	Func   int              `json:"func"`
	Text   string           `json:"text"`
	Cut    bool             `json:"cut,omitempty"`
	Calls  map[string][]int `json:"calls,omitempty"`
}

// load unpacks the data, once. An error is a fault of the build, and a test makes sure there is none.
var load = sync.OnceValue(func() map[string]Excerpt {
	data, err := Unpack(packed)
	if err != nil {
		panic(err)
	}
	out := make(map[string]Excerpt, len(data.Steps))
	for name, e := range data.Steps {
		out[name] = Excerpt{
			Module: e.Module, Version: data.Versions[e.Module], File: e.File, Line: e.Line, Func: e.Func,
			Lines: strings.Split(e.Text, "\n"), Cut: e.Cut, calls: e.Calls,
		}
	}
	return out
})

// Pack returns the data in the form in which it is kept.
func Pack(d *Data) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	z.Comment = d.Notice
	if err := json.NewEncoder(z).Encode(d); err != nil {
		return nil, fmt.Errorf("pack source: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack source: %w", err)
	}
	return b.Bytes(), nil
}

// Unpack is the reverse of Pack.
func Unpack(b []byte) (*Data, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("unpack source: %w", err)
	}
	d := &Data{}
	if err := json.NewDecoder(z).Decode(d); err != nil {
		return nil, fmt.Errorf("unpack source: %w", err)
	}
	return d, nil
}
