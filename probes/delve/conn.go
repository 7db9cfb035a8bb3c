//go:build linux && amd64

package delve

import (
	"fmt"
	"reflect"

	"github.com/go-delve/delve/service/rpc2"
)

// conn is the way to a Delve: requests and answers are those of service/rpc2, whose methods
// are called by name.
type conn interface {
	call(method string, in, out any) error
}

// remote is a headless Delve, which gets them as JSON.
type remote struct{ *rpc2.RPCClient }

func (r remote) call(method string, in, out any) error { return r.CallAPI(method, in, out) }

// local is a Delve of this process, whose methods are called as they are.
type local struct{ *rpc2.RPCServer }

func (l local) call(method string, in, out any) error {
	m := reflect.ValueOf(l.RPCServer).MethodByName(method)
	if !m.IsValid() {
		return fmt.Errorf("this Delve has no %s", method)
	}
	takes := m.Type()
	if takes.NumIn() != 2 {
		return fmt.Errorf("%s of this Delve is called otherwise", method)
	}
	if takes.NumOut() == 1 { // it gives its answer at once
		err, _ := m.Call([]reflect.Value{reflect.ValueOf(in), reflect.ValueOf(out)})[0].Interface().(error)
		return err
	}
	answer := callback{out: out, done: make(chan error, 1)}
	m.Call([]reflect.Value{reflect.ValueOf(in), reflect.ValueOf(answer)})
	return <-answer.done
}

// callback takes the answer of a method that has the program go on.
type callback struct {
	out  any
	done chan error
}

// Return takes the answer.
func (c callback) Return(out any, err error) {
	if err == nil {
		reflect.ValueOf(c.out).Elem().Set(reflect.ValueOf(out).Convert(reflect.TypeOf(c.out).Elem()))
	}
	c.done <- err
}

// SetupDoneChan is closed by who has the program go on, when it does.
func (callback) SetupDoneChan() chan struct{} { return make(chan struct{}) }

// DisconnectChan is closed when who asked is gone, which cannot be.
func (callback) DisconnectChan() chan struct{} { return nil }
