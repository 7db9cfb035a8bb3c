package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

// archives makes an archive for each target: zip for Windows, tar.gz for all others.
func (r *release) archives() error {
	for _, t := range r.targets {
		entries, err := r.archived(t)
		if err != nil {
			return err
		}
		write := func(f *os.File) error { return writeTarGz(f, entries, r.made) }
		if t.os == "windows" {
			write = func(f *os.File) error { return writeZip(f, entries, r.made) }
		}
		if err := r.create(r.archiveName(t), write); err != nil {
			return err
		}
	}
	return nil
}

// archiveName returns the name of a target's archive.
func (r *release) archiveName(t target) string {
	if t.os == "windows" {
		return r.fileName(t.String() + ".zip")
	}
	return r.fileName(t.String() + ".tar.gz")
}

// archiveDir returns the directory in which an archive has all its files.
func (r *release) archiveDir(t target) string { return r.fileName(t.String()) }

// archived returns the files of a target's archive.
func (r *release) archived(t target) ([]entry, error) {
	program, err := os.ReadFile(r.program(t))
	if err != nil {
		return nil, fmt.Errorf("read what was built: %w", err)
	}
	entries := []entry{{programName(t), 0o755, program}}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		text, err := r.read(name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, 0o644, text})
	}
	if t.os == "linux" {
		unit, err := r.read(unitFile)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{"podstep.service", 0o644, unit})
	}
	for _, dir := range []string{"man", "completions"} {
		more, err := entriesIn(r.stage, dir)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
	}
	for i := range entries {
		entries[i].name = path.Join(r.archiveDir(t), entries[i].name)
	}
	return entries, nil
}

// entriesIn returns all files below a directory of a root, with their paths from the root.
func entriesIn(root, dir string) (entries []entry, err error) {
	err = filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		entries = append(entries, entry{filepath.ToSlash(name), 0o644, data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what was built: %w", err)
	}
	return entries, nil
}

// sorted returns the entries in the order of their names.
func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
}

// writeTar writes a tar of the entries, all of the given time, and of root.
func writeTar(w io.Writer, entries []entry, made time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range sorted(entries) {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.data)), ModTime: made, Format: tar.FormatUSTAR}
		if dir, ok := strings.CutSuffix(e.name, "/"); ok {
			head.Typeflag, head.Name = tar.TypeDir, dir+"/"
			if e.mode&fs.ModeSticky != 0 {
				head.Mode |= 0o1000
			}
		}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		if _, err := archive.Write(e.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writeTarGz(w io.Writer, entries []entry, made time.Time) error {
	return gzipTo(w, func(w io.Writer) error { return writeTar(w, entries, made) })
}

// gzipTo compresses what is written, without a name and a time.
func gzipTo(w io.Writer, write func(io.Writer) error) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := write(compressed); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(w io.Writer, entries []entry, made time.Time) error {
	archive := zip.NewWriter(w)
	for _, e := range sorted(entries) {
		head := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: made}
		head.SetMode(e.mode)
		f, err := archive.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return archive.Close()
}
