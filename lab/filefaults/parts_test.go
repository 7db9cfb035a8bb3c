package filefaults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var parts = map[string]func(args []string){
	"all": func([]string) {
		must(os.Mkdir("d", 0o755))
		must(os.WriteFile("d/f", []byte("x"), 0o644))
		_, err := os.ReadFile("d/f")
		must(err)
		must(os.Rename("d/f", "d/../d/g"))
		must(os.Symlink("../elsewhere/", "d/s"))
		must(os.Link("d/g", "d/h"))
		must(os.Chmod("d/g", 0o600))
		must(os.Chown("d/g", os.Getuid(), os.Getgid()))
		must(os.Lchown("d/s", os.Getuid(), os.Getgid()))
		must(os.Truncate("d/g", 0))
		must(os.Remove("d/g"))
		must(os.Remove("d/s"))
		must(os.RemoveAll("d"))
		must(os.Mkdir("e", 0o755))
		must(os.Remove("e"))
	},
	"mkdirs": func([]string) {
		for _, name := range []string{"a", "b", "c"} {
			report(name, os.Mkdir(name, 0o755))
		}
	},
	"reads": func(args []string) {
		_, err := os.ReadFile(args[0])
		report("read", err)
	},
	"hangs": func([]string) {
		done := make(chan error)
		go func() { done <- os.Mkdir("hangs", 0o755) }()
		waitForInput()
		for i := range 50 {
			must(os.WriteFile("f"+strconv.Itoa(i), nil, 0o644))
			runtime.GC()
		}
		fmt.Println("others went on")
		report("hangs", <-done)
		report("later", os.Mkdir("later", 0o755))
	},
	"relative": relativePart,
	"bad":      badPart,
	"many":     manyPart,
	"parent": func([]string) {
		child, err := os.Executable()
		must(err)
		cmd := exec.Command(child)
		cmd.Env = append(os.Environ(), partVariable+"=mkdirs", socketVariable+"=")
		must(cmd.Start())
		waitForInput()
		must(cmd.Process.Kill())
		_ = cmd.Wait()
		fmt.Println("killed")
		waitForInput()
	},
	"offers twice": func([]string) {
		fmt.Println(Offer(os.Getenv(socketVariable)))
	},
	"supervisor": func(args []string) {
		s, err := Listen(args[0])
		must(err)
		fmt.Println("listens")
		must(s.Serve(func(ctx context.Context, op Operation) unix.Errno {
			if filepath.Base(op.Path) == "a" {
				fmt.Println("hangs")
				<-ctx.Done()
			}
			return 0
		}))
	},
	"opens": func(args []string) {
		n, err := strconv.Atoi(args[0])
		must(err)
		path, err := filepath.Abs("f") // as the kubelet names its files
		must(err)
		must(os.WriteFile(path, nil, 0o644))
		start := time.Now()
		for range n {
			fd, err := unix.Open(path, unix.O_RDONLY, 0)
			must(err)
			must(unix.Close(fd))
		}
		fmt.Println(time.Since(start).Nanoseconds())
	},
}

// relativePart names files by open directories.
func relativePart([]string) {
	must(os.MkdirAll("d/e", 0o755))
	dir, err := unix.Open("d", unix.O_PATH|unix.O_DIRECTORY, 0)
	must(err)
	must(unix.Mkdirat(dir, "made", 0o755))
	must(unix.Renameat(dir, "made", unix.AT_FDCWD, "moved"))
	report("in root", func() error {
		how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o644, Resolve: unix.RESOLVE_IN_ROOT}
		fd, err := unix.Openat2(dir, "/../new", &how)
		_ = unix.Close(fd)
		return err
	}())
	report("empty", unix.Fchownat(dir, "", os.Getuid(), os.Getgid(), unix.AT_EMPTY_PATH))
	report("empty and refused", unix.Mkdirat(dir, "", 0o755))
	report("no directory", unix.Mkdirat(999, "x", 0o755))
	must(os.Chdir("d/e"))
	must(os.Mkdir("../from-e", 0o755))
	must(os.Remove("../e"))
	report("in removed", os.Mkdir("x", 0o755))
}

// badPart gives the kernel pointers that lead nowhere.
func badPart([]string) {
	mkdir := func(at uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_MKDIRAT, uintptr(cwdNumber()), at, 0o755); errno != 0 {
			return errno
		}
		return nil
	}
	report("null", mkdir(0))
	report("high", mkdir(1<<60))
	size := os.Getpagesize()
	pages, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	must(err)
	for i := range size {
		pages[i] = 'a'
	}
	must(unix.Mprotect(pages[size:], unix.PROT_NONE))
	// Its first part can be read, its end cannot.
	report("cut off", mkdir(uintptr(unsafe.Pointer(&pages[size-3]))))
	// The last byte of what can be read ends it.
	pages[size-1] = 0
	report("at the end", mkdir(uintptr(unsafe.Pointer(&pages[size-3]))))
	report("too long", os.Mkdir(strings.Repeat("a", 5000), 0o755))
	_, _, errno := unix.Syscall6(unix.SYS_OPENAT2, uintptr(cwdNumber()), uintptr(unsafe.Pointer(&pages[size-3])), 0, 24, 0, 0)
	report("no flags", errno)
}

// cwdNumber is what stands for the working directory in a register.
func cwdNumber() int { return unix.AT_FDCWD }

// manyPart has many threads that make files, while the garbage collector interrupts them.
func manyPart([]string) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 200 {
				must(os.WriteFile(fmt.Sprintf("f-%d-%d", i, j), nil, 0o644))
			}
		})
	}
	all.Wait()
	close(done)
	fmt.Println("made")
}
