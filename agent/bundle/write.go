package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/probes/words"
)

// The files that each bundle has. All are below dir.
const (
	dir      = "podstep-bundle/"
	list     = "README.txt"
	snapshot = "snapshot.json"
)

// Bundle is what is known of a pod.
type Bundle struct {
	// Podstep is the version that has made it.
	Podstep  string
	Snapshot *evidence.Snapshot
	// Files are further files. Those of which nothing could be had say why.
	Files []gather.File
}

// Write writes a bundle to a new file, which only its owner can read.
func (b *Bundle) Write(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already; name a new file for the bundle", path)
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(fmt.Errorf("write the bundle: %w", err), os.Remove(path))
		}
	}()
	return b.write(f)
}

func (b *Bundle) write(to io.Writer) error {
	text, err := json.MarshalIndent(b.Snapshot, "", " ")
	if err != nil {
		return fmt.Errorf("encode the snapshot: %w", err)
	}
	z := gzip.NewWriter(to)
	t := tar.NewWriter(z)
	files := []gather.File{
		{Name: list, Text: b.list()},
		{Name: snapshot, Text: text},
	}
	for _, f := range append(files, b.Files...) {
		if f.Why != "" {
			continue
		}
		h := &tar.Header{Name: dir + f.Name, Size: int64(len(f.Text)), Mode: 0o600, ModTime: b.Snapshot.Taken.Truncate(time.Second), Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.Text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// list returns the text that a person reads before the bundle is sent.
func (b *Bundle) list() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "What podstep %s found out about pod %s at %s.\n\n", b.Podstep, words.Clean(b.Snapshot.Name.String()), b.Snapshot.Taken.UTC().Format(time.RFC3339))
	out.WriteString("podstep why --bundle FILE explains it, and podstep replay FILE shows the story, on any machine.\n\n")
	out.WriteString("Read it before you send it. Podstep has left out values of environment variables, data of Secrets and\nConfigMaps, commands, and what looks like a password or a token. Names of pods, nodes, images, volumes\nand files are in it.\n\nIn it are:\n\n")
	row := func(name, what string) { fmt.Fprintf(&out, "  %-42s %s\n", name, what) }
	row(snapshot, "what the API server, the kubelet, the runtime and the machine said of the pod")
	for _, f := range b.Files {
		if f.Why == "" {
			row(f.Name, fmt.Sprintf("%s (%d bytes)", f.What, len(f.Text)))
		}
	}
	missing := false
	for _, f := range b.Files {
		if f.Why == "" {
			continue
		}
		if !missing {
			out.WriteString("\nNot in it are:\n\n")
			missing = true
		}
		row(f.Name, f.What+": "+f.Why)
	}
	return out.Bytes()
}
