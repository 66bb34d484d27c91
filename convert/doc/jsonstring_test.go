package doc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// A JSON string says what the text does, with the escapes of encoding/json but
// those for HTML.
func TestAppendJSONString(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x3000) {
		all.WriteRune(r)
	}
	all.WriteString("😀\xff\xed\xa0\x80")
	var got string
	if err := json.Unmarshal(doc.AppendJSONString(nil, all.String()), &got); err != nil || got != strings.ToValidUTF8(strings.ReplaceAll(all.String(), "\xed\xa0\x80", "\ufffd\ufffd\ufffd"), "\ufffd") {
		t.Errorf("got %q, %v", got, err)
	}
	for text, want := range map[string]string{
		"a\xffb": `"a` + "\ufffd" + `b"`, "\b\f\n\r\t\"\\/\x00\x1f\x7f": `"\b\f\n\r\t\"\\/\u0000\u001f` + "\x7f\"", "\u2028\u2029<&>": `"\u2028\u2029<&>"`, "": `""`,
	} {
		if got := doc.AppendJSONString(nil, text); string(got) != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
