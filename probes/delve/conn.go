//go:build linux && amd64

package delve

import (
	"fmt"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// conn is the way to a Delve. Requests and answers are those of service/rpc2, whose methods are called by name.
type conn interface {
	call(method string, in, out any) error
}

// remote is a headless Delve. It gets the requests as JSON.
type remote struct{ *rpc2.RPCClient }

func (r remote) call(method string, in, out any) error { return r.CallAPI(method, in, out) }

// local has the methods of a Delve of this process that podstep calls, by their names. A look-up
// by reflection would make the linker keep every method of every type in podstep.
type local map[string]func(in, out any) error

func newLocal(s *rpc2.RPCServer) local {
	return local{
		"ClearBreakpoint":  method(s.ClearBreakpoint),
		"Command":          func(in, out any) error { return command(s, in.(api.DebuggerCommand), out.(*rpc2.CommandOut)) },
		"CreateBreakpoint": method(s.CreateBreakpoint),
		"Detach":           method(s.Detach),
		"Eval":             method(s.Eval),
		"ExamineMemory":    method(s.ExamineMemory),
		"ListFunctionArgs": method(s.ListFunctionArgs),
		"ListLocalVars":    method(s.ListLocalVars),
		"ListPackageVars":  method(s.ListPackageVars),
		"ListRegisters":    method(s.ListRegisters),
		"Stacktrace":       method(s.Stacktrace),
	}
}

func (l local) call(method string, in, out any) error {
	f, ok := l[method]
	if !ok {
		return fmt.Errorf("podstep does not know the method %s of its own Delve", method)
	}
	return f(in, out)
}

// method makes a method of Delve callable without its types.
func method[In, Out any](f func(In, *Out) error) func(in, out any) error {
	return func(in, out any) error { return f(in.(In), out.(*Out)) }
}

// command runs a command and waits for its answer.
func command(s *rpc2.RPCServer, in api.DebuggerCommand, out *rpc2.CommandOut) error {
	answer := callback{out: out, done: make(chan error, 1)}
	s.Command(in, answer)
	return <-answer.done
}

// callback takes the answer to a command.
type callback struct {
	out  *rpc2.CommandOut
	done chan error
}

// Return takes the answer.
func (c callback) Return(out any, err error) {
	if err == nil {
		*c.out = out.(rpc2.CommandOut)
	}
	c.done <- err
}

// SetupDoneChan is closed by Delve when the program goes on.
func (callback) SetupDoneChan() chan struct{} { return make(chan struct{}) }

// DisconnectChan would be closed when the client is gone. The client is this process.
func (callback) DisconnectChan() chan struct{} { return nil }
