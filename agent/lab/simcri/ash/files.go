package ash

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

func cat(sh *shell, args []string) int {
	if len(args) == 0 {
		return sh.copyLines(sh.stdin)
	}
	code := 0
	for _, a := range args {
		f, err := sh.env.Files.Open(sh.abs(a))
		if err == nil {
			_, err = io.Copy(sh.stdout, f)
			f.Close()
		}
		if err != nil {
			code = sh.fail("cat: can't open", plain(a, err))
		}
	}
	return code
}

// copyLines passes input on as it comes; only the end of the input, or of the
// program, ends it.
func (sh *shell) copyLines(in io.Reader) int {
	for r := bufio.NewReader(in); sh.ctx.Err() == nil; {
		line, err := r.ReadString('\n')
		io.WriteString(sh.stdout, line)
		if err != nil {
			return 0
		}
	}
	return Killed
}

func touch(sh *shell, args []string) int {
	code := 0
	for _, a := range operands(args) {
		f, err := sh.env.Files.Create(sh.abs(a), true)
		if err != nil {
			code = sh.fail("touch", plain(a, err))
			continue
		}
		f.Close()
	}
	return code
}

func remove(sh *shell, args []string) int {
	force, recursive := false, false
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			force = force || strings.Contains(a, "f")
			recursive = recursive || strings.Contains(a, "r")
		}
	}
	code := 0
	for _, a := range operands(args) {
		info, err := sh.env.Files.Stat(sh.abs(a))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if force {
				continue
			}
		case err == nil && info.IsDir() && !recursive:
			err = errors.New("is a directory")
		default: // a link that leads nowhere can be removed, too
			err = sh.env.Files.Remove(sh.abs(a))
		}
		if err != nil {
			code = sh.fail("rm", plain(a, err))
		}
	}
	return code
}

func mkdir(sh *shell, args []string) int {
	parents := strings.HasPrefix(args[0], "-")
	code := 0
	for _, a := range operands(args) {
		dirs := []string{sh.abs(a)}
		for d := path.Dir(dirs[0]); parents && d != "/"; d = path.Dir(d) {
			dirs = append([]string{d}, dirs...)
		}
		for _, d := range dirs {
			if info, err := sh.env.Files.Stat(d); err == nil && info.IsDir() && parents {
				continue
			}
			if err := sh.env.Files.Mkdir(d); err != nil {
				code = sh.fail("mkdir: can't create directory", plain(a, err))
				break
			}
		}
	}
	return code
}

func cp(sh *shell, args []string) int {
	args = operands(args)
	if len(args) < 2 {
		return sh.fail("cp", errors.New("missing file operand"))
	}
	to := sh.abs(args[len(args)-1])
	info, err := sh.env.Files.Stat(to)
	into := err == nil && info.IsDir()
	if len(args) > 2 && !into {
		return sh.fail("cp", fmt.Errorf("%s: Not a directory", to))
	}
	code := 0
	for _, a := range args[:len(args)-1] {
		target := to
		if into {
			target = path.Join(to, path.Base(a))
		}
		if err := sh.copyFile(sh.abs(a), target); err != nil {
			code = sh.fail("cp", plain(a, err))
		}
	}
	return code
}

func (sh *shell) copyFile(from, to string) error {
	in, err := sh.env.Files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := sh.env.Files.Create(to, false)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func ls(sh *shell, args []string) int {
	dir, all := sh.dir, len(args) > 0 && strings.HasPrefix(args[0], "-") && strings.Contains(args[0], "A")
	if names := operands(args); len(names) > 0 {
		dir = sh.abs(names[0])
	}
	names, err := sh.env.Files.List(dir)
	if err != nil {
		return sh.fail("ls", plain(dir, err))
	}
	for _, n := range names {
		if all || !strings.HasPrefix(n, ".") {
			fmt.Fprintln(sh.stdout, n)
		}
	}
	return 0
}
