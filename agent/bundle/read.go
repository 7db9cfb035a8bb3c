package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/agent/trace"
)

// ErrNoBundle is the error for a file that is no bundle of podstep's.
var ErrNoBundle = errors.New("it is no bundle of podstep's")

// maxFile bounds one file of a bundle, in bytes.
const maxFile = 256 << 20

// Read reads a bundle: the snapshot, and those of the other files whose names are given.
func Read(path string, names ...string) (*Bundle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the bundle: %w", err)
	}
	defer f.Close()
	b, err := read(bufio.NewReader(f), names)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

func read(from io.Reader, names []string) (*Bundle, error) {
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, ErrNoBundle
	}
	t, b := tar.NewReader(z), &Bundle{}
	for first := true; ; first = false {
		h, err := t.Next()
		switch {
		case first && (err != nil || h.Name != dir+list):
			return nil, ErrNoBundle
		case errors.Is(err, io.EOF) && b.Snapshot == nil:
			return nil, errors.New("the bundle has no snapshot")
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil:
			return nil, fmt.Errorf("the bundle is damaged: %w", err)
		case h.Size > maxFile:
			return nil, fmt.Errorf("%s in the bundle has %d bytes, which is too much", h.Name, h.Size)
		}
		if err := b.readFile(strings.TrimPrefix(h.Name, dir), t, names); err != nil {
			return nil, fmt.Errorf("the bundle is damaged: %s: %w", h.Name, err)
		}
	}
}

func (b *Bundle) readFile(name string, from io.Reader, names []string) error {
	if name == snapshot {
		s := &evidence.Snapshot{}
		if err := json.NewDecoder(from).Decode(s); err != nil {
			return err
		}
		b.Snapshot = s
		return nil
	}
	for _, wanted := range names {
		if name == wanted {
			text, err := io.ReadAll(from)
			b.Files = append(b.Files, gather.File{Name: name, Text: text})
			return err
		}
	}
	return nil
}

// Story opens the story that a bundle has; nil: it has none, but it may have logs.
func Story(path string) (trace.Recording, error) {
	b, err := Read(path, gather.StoryFile)
	if err != nil || len(b.Files) == 0 {
		return nil, err
	}
	r, err := trace.NewReader(bytes.NewReader(b.Files[0].Text))
	if err != nil {
		return nil, fmt.Errorf("read the story in %s: %w", path, err)
	}
	return r, nil
}
