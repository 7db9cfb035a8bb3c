package kubeport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxAnswer bounds an answer about the verbosity, in bytes. /configz has some kilobytes.
const maxAnswer = 4 << 20

// Verbosity returns the -v with which the kubelet was started, by its flags and its file. If somebody has changed it
// since, nothing of the kubelet shows that.
func (p *Port) Verbosity(ctx context.Context) (int, error) {
	text, err := p.ask(ctx, http.MethodGet, "/configz", "")
	if err != nil {
		return 0, err
	}
	var answer struct {
		Config *struct {
			Logging struct{ Verbosity int }
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, fmt.Errorf("read the kubelet's /configz: %w", err)
	}
	if answer.Config == nil {
		return 0, errors.New("read the kubelet's /configz: it has no configuration")
	}
	return answer.Config.Logging.Verbosity, nil
}

// SetVerbosity makes the kubelet log with another -v from now on.
func (p *Port) SetVerbosity(ctx context.Context, v int) error {
	_, err := p.ask(ctx, http.MethodPut, "/debug/flags/v", strconv.Itoa(v))
	return err
}

// ask sends a request to the port for clients that log in.
func (p *Port) ask(ctx context.Context, method, path, body string) ([]byte, error) {
	if len(p.URLs) == 0 || !strings.HasPrefix(p.URLs[0], "https:") {
		return nil, errors.New("ask the kubelet: it has no port for clients that log in, or podstep has no credentials for it")
	}
	req, err := http.NewRequestWithContext(ctx, method, p.URLs[0]+path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	resp, err := p.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the kubelet: %w", err)
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("the kubelet refuses %s %s: the credentials lack the right to get and update nodes/proxy; name others with --kubeconfig", method, path)
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
		return nil, fmt.Errorf("the kubelet does not serve %s: enableDebuggingHandlers or enableDebugFlagsHandler is off in its configuration", path)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the kubelet answers %s %s with %s", method, path, resp.Status)
	}
	return text, nil
}
