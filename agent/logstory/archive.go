package logstory

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
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

const (
	// maxMembers bounds the files of an archive or a directory that are looked at.
	maxMembers = 1 << 17
	// sniffed is how much of a file is read to find out whether it is a log, in bytes.
	sniffed = 1 << 20
)

// openInputs opens a file, or all logs in a directory or a tar. Of logs of several nodes, node chooses one by a part of
// their paths.
func openInputs(name string, o *Options) ([]*input, error) {
	node := o.Node
	if name == Stdin {
		in, err := spool("standard input", os.Stdin, time.Now())
		if err != nil {
			return nil, err
		}
		return in.unpacked(node)
	}
	if node, is := NodeOf(name); is && o.Fetch != nil {
		return fetched(name, node, o.Fetch)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return inDirectory(name, node)
	}
	in, err := openInput(name)
	if err != nil {
		return nil, err
	}
	return in.unpacked(node)
}

// unpacked returns the logs in a file: the file itself, if it is no tar.
func (in *input) unpacked(node string) ([]*input, error) {
	text, err := in.open()
	if err != nil {
		in.file.Close()
		return nil, err
	}
	defer text.Close()
	b := bufio.NewReaderSize(text, 64<<10)
	if begin, _ := b.Peek(tarMagicAt + len(tarMagic)); len(begin) < tarMagicAt+len(tarMagic) || string(begin[tarMagicAt:]) != tarMagic {
		return []*input{in}, nil
	}
	defer in.file.Close()
	found, err := inTar(in.name, tar.NewReader(b))
	if err != nil {
		return nil, errors.Join(err, closeAll(found))
	}
	return chooseNode(in.name, found, node)
}

// tarMagic stands at a place in the header of a tar's first member.
const (
	tarMagic   = "ustar"
	tarMagicAt = 257
)

func closeAll(all []*input) (err error) {
	for _, in := range all {
		err = errors.Join(err, in.file.Close())
	}
	return err
}

// inTar copies the logs out of a tar. Nothing is written under a name of the tar's.
func inTar(name string, from *tar.Reader) (out []*input, err error) {
	b := bufio.NewReaderSize(nil, sniffed)
	for n := 0; ; n++ {
		h, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, breaksOff(name, err)
		case n == maxMembers:
			return out, fmt.Errorf("read %s: it has more than %d files; unpack it, and name the logs in it", name, maxMembers)
		case h.Typeflag != tar.TypeReg || h.Size == 0:
			continue
		}
		b.Reset(from)
		in, err := spoolLog(name, h.Name, b, h.ModTime)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return out, breaksOff(name, err)
		}
		if err != nil {
			return out, err
		}
		if in != nil {
			out = append(out, in)
		}
	}
}

// spoolLog copies a member of an archive if it is a log; nil: it is none. The reader's buffer holds what is sniffed.
func spoolLog(name, member string, from *bufio.Reader, written time.Time) (*input, error) {
	begin, _ := from.Peek(sniffed) // an error comes again when it is copied
	if !isLog(begin, written) {
		return nil, nil
	}
	in, err := spool(path.Join(name, member), from, written)
	if err == nil {
		in.member = member
	}
	return in, err
}

// breaksOff returns the error for an archive of which a part is missing.
func breaksOff(name string, err error) error {
	return fmt.Errorf("read %s: the archive breaks off: %w; unpack what can be unpacked, and name the directory", name, err)
}

// inDirectory opens the logs in a directory and below it.
func inDirectory(name, node string) (out []*input, err error) {
	n, begin := 0, make([]byte, sniffed)
	err = filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
		switch n++; {
		case err != nil:
			return err
		case n > maxMembers:
			return fmt.Errorf("it has more than %d files; name the logs in it", maxMembers)
		case !d.Type().IsRegular():
			return nil
		}
		in, err := openInput(file)
		if err != nil {
			return err
		}
		size, err := io.ReadFull(in.file, begin)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || !isLog(begin[:size], in.written) {
			return in.file.Close()
		}
		in.member, _ = filepath.Rel(name, file)
		in.member = filepath.ToSlash(in.member)
		out = append(out, in)
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), closeAll(out))
	}
	return chooseNode(name, out, node)
}

// isLog reports whether a file that begins so, packed or not, is a log of a kubelet or of a runtime: other components
// of Kubernetes write lines of the same form.
func isLog(begin []byte, written time.Time) bool {
	text, err := unpack(bufio.NewReader(bytes.NewReader(begin)))
	if err != nil {
		return false
	}
	r := newReader(io.LimitReader(text, 4*sniffed), &clock{written})
	for {
		e, err := r.read()
		if err != nil {
			return false
		}
		if e.runtime {
			if _, ok := readCRI(e.text); ok {
				return true
			}
		} else if len(theRules().of(&e)) > 0 || strings.Contains(e.text, "kubeletVersion") {
			return true
		}
	}
}

// chooseNode returns the logs of one node. The logs of a node are in one directory.
func chooseNode(name string, all []*input, node string) (out []*input, err error) {
	var dirs []string
	for _, in := range all {
		dir := path.Dir(in.member)
		if node != "" && !slices.Contains(strings.Split(dir, "/"), node) {
			_ = in.file.Close()
			continue
		}
		out = append(out, in)
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("read %s: %w", name, ErrNoLog)
	case len(out) == 0:
		return nil, fmt.Errorf("read %s: there is no log in a directory %s", name, node)
	case len(dirs) > 1 && node == "":
		slices.Sort(dirs)
		return nil, errors.Join(fmt.Errorf("%s has logs of several nodes, in %s; choose one with --node and the name of its directory", name, strings.Join(dirs, ", ")), closeAll(out))
	}
	return out, nil
}
