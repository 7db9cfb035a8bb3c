package faults

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/lab/filefaults"
)

// Files stands between a kubelet and the files below a directory.
type Files struct {
	table  *Table
	root   string
	server *filefaults.Server
}

// ListenFiles opens a socket at which a kubelet offers its file operations. Those below root are looked at.
func ListenFiles(t *Table, socket, root string) (*Files, error) {
	server, err := filefaults.Listen(socket)
	if err != nil {
		return nil, err
	}
	return &Files{table: t, root: root, server: server}, nil
}

// Serve lets operations pass, or breaks them, until Close.
func (f *Files) Serve() error { return f.server.Serve(f.decide) }

// Close lets all operations pass from then on.
func (f *Files) Close() error { return f.server.Close() }

// errnos are the errors of file operations, by the actions that bring them about.
var errnos = map[Action]unix.Errno{IOError: unix.EIO, NoSpace: unix.ENOSPC, ReadOnly: unix.EROFS, NoAccess: unix.EACCES}

func (f *Files) decide(ctx context.Context, op filefaults.Operation) unix.Errno {
	namespace, c := f.about(op)
	if namespace == "" {
		return 0
	}
	rule, lifted := f.table.strike(namespace, c)
	if rule == nil {
		return 0
	}
	if rule.Action == Hang {
		<-either(ctx, lifted)
		return 0
	}
	return errnos[rule.Action]
}

// about returns whose operation it is: that of the pod of which a part of the path is an id.
func (f *Files) about(op filefaults.Operation) (namespace string, c Call) {
	path, err := filepath.Rel(f.root, op.Path)
	if err != nil || strings.HasPrefix(path, "..") {
		return "", Call{}
	}
	words := wordsOf.FindAllStringIndex(path, -1)
	var object strings.Builder
	at := 0
	for _, w := range words {
		word := path[w[0]:w[1]]
		if of := f.table.whose(word).namespace; of != "" {
			namespace = of
			object.WriteString(path[at:w[0]] + "ID")
			at = w[1]
		}
	}
	if namespace == "" {
		return "", Call{}
	}
	object.WriteString(path[at:])
	return namespace, Call{Side: File, Method: op.Kind, Object: same(object.String())}
}

// wordsOf matches the parts of a path that may be ids. The name of a directory of logs has several, such as
// NAMESPACE_POD_UID.
var wordsOf = regexp.MustCompile(`[^/_]+`)

// made are the parts of paths that are made up anew for each pod, and what stands for them.
var made = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\.\.\d{4}_[\d_]+\.\d+`), "..DATA"}, // the kubelet's directory of a version of a volume's files
	{regexp.MustCompile(`kube-api-access-\w{5}`), "kube-api-access"},
	{regexp.MustCompile(`(containers/[^/]+)/[\da-f]{8}$`), "$1/LOG"}, // the message with which a container ends
	{regexp.MustCompile(`\b[\da-f]{64}\b`), "ID"},
}

// same returns a path that is the same for each pod.
func same(path string) string {
	for _, m := range made {
		path = m.part.ReplaceAllString(path, m.as)
	}
	return path
}
