package sandrone

import "errors"

// Tri is a switch with three states: not stated, off, on. The zero value means
// that the source did not say. It is comparable and costs one byte, where a
// *bool would cost an allocation and could be shared by mistake.
type Tri uint8

// The states of a Tri.
const (
	Unset Tri = iota // the source is silent
	Off              // stated false
	On               // stated true
)

// TriOf returns On for true and Off for false.
func TriOf(b bool) Tri {
	if b {
		return On
	}
	return Off
}

// IsZero reports whether t is not stated; encoding/json's omitzero asks it.
func (t Tri) IsZero() bool { return t == Unset }

// Bool returns the stated value; ok is false when nothing is stated.
func (t Tri) Bool() (value, ok bool) { return t == On, t != Unset }

// MarshalJSON writes true, false, or null when nothing is stated.
func (t Tri) MarshalJSON() ([]byte, error) {
	switch t {
	case On:
		return []byte("true"), nil
	case Off:
		return []byte("false"), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads true, false and null; anything else is an error.
func (t *Tri) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*t = On
	case "false":
		*t = Off
	case "null":
		*t = Unset
	default:
		return errors.New("want true, false or null")
	}
	return nil
}
