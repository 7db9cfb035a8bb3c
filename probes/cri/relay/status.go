package relay

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// readStatus returns the status in a call's trailers.
func readStatus(fields []hpack.HeaderField) *status.Status {
	text := field(fields, "grpc-status")
	code, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return status.Newf(codes.Unknown, "the answer ended with status %q", text)
	}
	st := status.New(codes.Code(code), unescape(field(fields, "grpc-message")))
	if details, err := decodeBinary(field(fields, "grpc-status-details-bin")); err == nil && len(details) > 0 {
		if p := st.Proto(); proto.Unmarshal(details, p) == nil && p.Code == int32(code) {
			return status.FromProto(p)
		}
	}
	return st
}

// statusHeaders returns an answer that consists of a status alone. If the server's own headers went before, it only
// ends the answer.
func statusHeaders(st *status.Status, begun bool) []hpack.HeaderField {
	var out []hpack.HeaderField
	if !begun {
		out = append(out, hpack.HeaderField{Name: ":status", Value: "200"}, hpack.HeaderField{Name: "content-type", Value: "application/grpc"})
	}
	out = append(out, hpack.HeaderField{Name: "grpc-status", Value: strconv.Itoa(int(st.Code()))})
	if m := st.Message(); m != "" {
		out = append(out, hpack.HeaderField{Name: "grpc-message", Value: escape(m)})
	}
	p := st.Proto()
	if len(p.GetDetails()) == 0 {
		return out
	}
	if details, err := proto.Marshal(p); err == nil {
		out = append(out, hpack.HeaderField{Name: "grpc-status-details-bin", Value: base64.RawStdEncoding.EncodeToString(details)})
	}
	return out
}

// refusal returns the status with which a gate's error is answered.
func refusal(err error) *status.Status {
	st, ok := status.FromError(err)
	if !ok && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		st = status.FromContextError(err)
	}
	if st.Code() == codes.OK {
		return status.New(codes.Unknown, err.Error())
	}
	return st
}

// resetCodes are the statuses that grpc-go's client makes of resets. All other codes of HTTP/2 become Internal, and
// codes that HTTP/2 does not have become Unknown.
var resetCodes = map[uint32]codes.Code{
	0x3: codes.ResourceExhausted, 0x7: codes.Unavailable, 0x8: codes.Canceled, 0xb: codes.ResourceExhausted, 0xc: codes.PermissionDenied,
}

// lastResetCode is the last code of HTTP/2, HTTP_1_1_REQUIRED.
const lastResetCode = 0xd

// slack is how long before the deadline known here a call may count as past it. The deadline is counted from when
// the call's headers were read, and its timeout may have been rounded up, for long ones to a millisecond.
const slack = 5 * time.Millisecond

// resetStatus is the status of a call that one side reset.
func resetStatus(by string, code uint32, deadline, at time.Time) *status.Status {
	c, ok := resetCodes[code]
	switch {
	case by == "client":
		c = codes.Canceled
	case !ok && code <= lastResetCode:
		c = codes.Internal
	case !ok:
		c = codes.Unknown
	}
	if c == codes.Canceled && !deadline.IsZero() && !at.Before(deadline.Add(-slack)) {
		c = codes.DeadlineExceeded
	}
	if by == "client" {
		return givenUp(c)
	}
	return status.Newf(c, "the %s reset the call (code %d)", by, code)
}

// givenUp returns the status that a client itself gives a call that it gave up.
func givenUp(c codes.Code) *status.Status {
	if c == codes.DeadlineExceeded {
		return status.FromContextError(context.DeadlineExceeded)
	}
	return status.FromContextError(context.Canceled)
}

// escape returns gRPC's percent-encoding of a message.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape is lenient, as gRPC demands: a text that is no encoding stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
