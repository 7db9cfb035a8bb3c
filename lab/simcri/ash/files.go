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

func cat(c *command, args []string) int {
	if len(args) == 0 {
		return c.copyLines(c.Stdin)
	}
	code := 0
	for _, a := range args {
		f, err := c.env.Files.Open(c.abs(a))
		if err == nil {
			_, err = io.Copy(c.Stdout, f)
			f.Close()
		}
		if err != nil {
			code = c.fail("cat: can't open", about(a, err))
		}
	}
	return code
}

// copyLines copies input as it comes. It ends only with the input or with the program.
func (c *command) copyLines(in io.Reader) int {
	for r := bufio.NewReader(in); c.ctx.Err() == nil; {
		line, err := r.ReadString('\n')
		io.WriteString(c.Stdout, line)
		if err != nil {
			return 0
		}
	}
	return Killed
}

func touch(c *command, args []string) int {
	code := 0
	for _, a := range operands(args) {
		f, err := c.env.Files.Create(c.abs(a), true)
		if err != nil {
			code = c.fail("touch", about(a, err))
			continue
		}
		f.Close()
	}
	return code
}

func remove(c *command, args []string) int {
	force, recursive := false, false
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			force = force || strings.Contains(a, "f")
			recursive = recursive || strings.Contains(a, "r")
		}
	}
	code := 0
	for _, a := range operands(args) {
		info, err := c.env.Files.Stat(c.abs(a))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if force {
				continue
			}
		case err == nil && info.IsDir() && !recursive:
			err = errors.New("is a directory")
		default: // a link that leads nowhere can be removed, too
			err = c.env.Files.Remove(c.abs(a))
		}
		if err != nil {
			code = c.fail("rm", about(a, err))
		}
	}
	return code
}

func mkdir(c *command, args []string) int {
	parents := strings.HasPrefix(args[0], "-")
	code := 0
	for _, a := range operands(args) {
		dirs := []string{c.abs(a)}
		for d := path.Dir(dirs[0]); parents && d != "/"; d = path.Dir(d) {
			dirs = append([]string{d}, dirs...)
		}
		for _, d := range dirs {
			if info, err := c.env.Files.Stat(d); err == nil && info.IsDir() && parents {
				continue
			}
			if err := c.env.Files.Mkdir(d); err != nil {
				code = c.fail("mkdir: can't create directory", about(a, err))
				break
			}
		}
	}
	return code
}

func cp(c *command, args []string) int {
	args = operands(args)
	if len(args) < 2 {
		return c.fail("cp", errors.New("missing file operand"))
	}
	to := c.abs(args[len(args)-1])
	info, err := c.env.Files.Stat(to)
	into := err == nil && info.IsDir()
	if len(args) > 2 && !into {
		return c.fail("cp", fmt.Errorf("%s: Not a directory", to))
	}
	code := 0
	for _, a := range args[:len(args)-1] {
		target := to
		if into {
			target = path.Join(to, path.Base(a))
		}
		if err := c.copyFile(c.abs(a), target); err != nil {
			code = c.fail("cp", about(a, err))
		}
	}
	return code
}

func (c *command) copyFile(from, to string) error {
	in, err := c.env.Files.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.env.Files.Create(to, false)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func ls(c *command, args []string) int {
	dir, all := c.Dir, len(args) > 0 && strings.HasPrefix(args[0], "-") && strings.Contains(args[0], "A")
	if names := operands(args); len(names) > 0 {
		dir = c.abs(names[0])
	}
	names, err := c.env.Files.List(dir)
	if err != nil {
		return c.fail("ls", about(dir, err))
	}
	for _, n := range names {
		if all || !strings.HasPrefix(n, ".") {
			fmt.Fprintln(c.Stdout, n)
		}
	}
	return 0
}
