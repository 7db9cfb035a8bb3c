package gather

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// File is evidence that is kept as it was found, without what may be a secret. Why says why there is none.
type File struct {
	Name, What string
	Text       []byte
	Why        string
}

// keeper is a source that has files beside its part of a snapshot.
type keeper interface {
	keep(ctx context.Context, of *Subject) []File
}

// keepWithin bounds the time that it takes to read the files.
const keepWithin = 20 * time.Second

// Files returns the files that the sources have about the pod of a snapshot.
func (f From) Files(ctx context.Context, s *evidence.Snapshot) (out []File) {
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	of := &Subject{Name: s.Name, Kubelet: ofKubelet(s), Snapshot: s}
	all := make([][]File, len(f.More))
	var wg sync.WaitGroup
	for i, source := range f.More {
		if k, is := source.(keeper); is {
			wg.Go(func() { all[i] = k.keep(ctx, of) })
		}
	}
	wg.Wait()
	for _, files := range all {
		out = append(out, files...)
	}
	return out
}

// fileOf makes a file of what was read of it.
func fileOf(name, what string, text []byte, err error) File {
	f := File{Name: name, What: what, Text: text}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Text, f.Why = nil, "there is none"
	case err != nil:
		_, f.Why = WhyNot(err)
		f.Text = nil
	}
	return f
}
