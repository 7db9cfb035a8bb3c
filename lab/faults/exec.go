package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/podstep/podstep/lab/credentials"
)

// GetCredentials is what the kubelet runs its credential plugin for.
const GetCredentials = "GetCredentials"

// Credentials answers the lab's credential plugin in the place of a registry's cloud.
type Credentials struct {
	table    *Table
	listener net.Listener
}

// ListenCredentials opens a socket for the credential plugin.
func ListenCredentials(t *Table, socket string) (*Credentials, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) { // an explore that was killed leaves it
		return nil, fmt.Errorf("remove earlier socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the credential plugin: %w", err)
	}
	return &Credentials{table: t, listener: listener}, nil
}

// Serve answers until Close.
func (c *Credentials) Serve() error { return credentials.Serve(c.listener, c.answer) }

// Close ends all answers.
func (c *Credentials) Close() error { return c.listener.Close() }

// answer gives the credentials for an image, or breaks that.
func (c *Credentials) answer(ctx context.Context, image string) (credentials.Answer, error) {
	of := ofImageNamed(image)
	rule, lifted := c.table.strike(of.namespace, Call{Side: Exec, Method: GetCredentials, Object: of.container})
	if rule == nil {
		return credentials.Given(image, false)
	}
	switch rule.Action {
	case Hang:
		<-either(ctx, lifted)
		return credentials.Answer{Exit: 1, Errors: rule.Text}, nil
	case Late:
		pause(ctx, lifted, LateBy)
	case Empty:
		return credentials.Answer{}, nil
	case Nonsense:
		return credentials.Answer{Output: rule.Text}, nil
	case Wrong:
		return credentials.Given(image, true)
	default:
		return credentials.Answer{Exit: 1, Errors: rule.Text}, nil
	}
	return credentials.Given(image, false)
}
