package js

import (
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
)

// Programs keeps compiled scripts. A compiled program holds no state of a run,
// so one cache serves runs at the same time.
type Programs struct {
	mu      sync.Mutex
	entries []compiled // the last used one first
	bytes   int
}

type compiled struct {
	hash [sha256.Size]byte
	size int
	prg  *goja.Program
}

// Limits of the cache.
const (
	maxPrograms     = 32
	maxProgramBytes = 4 << 20 // of script text
)

// Hash names a script: its text, its diagnostic name, which is part of the
// compiled program, and the version of the API.
func Hash(name, text string) [sha256.Size]byte {
	return sha256.Sum256([]byte("1\x00" + name + "\x00" + text))
}

// get compiles a script or finds it compiled. The error is a [*Error].
func (c *Programs) get(name, text string) (*goja.Program, error) {
	hash := Hash(name, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.entries {
		if e.hash == hash {
			copy(c.entries[1:i+1], c.entries[:i])
			c.entries[0] = e
			return e.prg, nil
		}
	}
	prg, err := compile(name, text)
	if err != nil {
		return nil, err
	}
	c.entries = append([]compiled{{hash, len(text), prg}}, c.entries...)
	c.bytes += len(text)
	for len(c.entries) > maxPrograms || c.bytes > maxProgramBytes && len(c.entries) > 1 {
		last := c.entries[len(c.entries)-1]
		c.bytes -= last.size
		c.entries = c.entries[:len(c.entries)-1]
	}
	return prg, nil
}

// Compile reports whether text is a script. The error is a [*Error] of kind
// Runtime.
func (c *Programs) Compile(name, text string) error {
	_, err := c.get(name, text)
	return err
}

func compile(name, text string) (*goja.Program, error) {
	// The parser would follow a source map comment to a file of the host.
	tree, err := parser.ParseFile(nil, name, text, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	guardFunctions(tree)
	prg, err := goja.CompileAST(tree, true)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	return prg, nil
}

func syntaxError(name string, err error) *Error {
	e := &Error{Kind: Runtime}
	text, at := "invalid script", file.Position{}
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		text, at = list[0].Message, list[0].Position
	} else if c, ok := errors.AsType[*goja.CompilerSyntaxError](err); ok {
		text = c.Message
		if c.File != nil {
			at = c.File.Position(c.Offset)
		}
	}
	// Some sentences quote a name of the script after a colon or in quotes.
	text, _, _ = strings.Cut(text, "'")
	text, _, _ = strings.Cut(text, "\"")
	e.Message = shown(name, "SyntaxError: "+strings.TrimSpace(text))
	e.Line, e.Column = at.Line, at.Column
	return e
}

// depthGlobal is the name of the function that every function of a script
// calls first. No script can write such a name.
const depthGlobal = "(depth)"

// wholeGlobal is the name of the function that what is spread into an object
// goes through. It fills lazy objects: a proxy with traps lists its members at
// twice the cost. For the script it changes nothing.
const wholeGlobal = "(whole)"

// guardFunctions puts a call of the depth guard in front of every function
// body. The engine's own limit ends the whole run; what the guard throws is a
// RangeError that a script can catch, as in any other engine. The tree is
// changed, not the text, so that positions and Function.prototype.toString stay
// right.
//
// The walk goes by reflection over whatever the tree is made of: a list of
// node kinds would miss the first one that a new version of the parser adds.
func guardFunctions(tree *ast.Program) {
	walk(reflect.ValueOf(tree), make(map[uintptr]bool))
}

var astPackage = reflect.TypeFor[ast.Program]().PkgPath()

// walk visits everything below v. Declarations hang in the tree twice, as
// statements and in the lists of their scopes, hence seen.
func walk(v reflect.Value, seen map[uintptr]bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), seen)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().PkgPath() != astPackage || seen[v.Pointer()] {
			return
		}
		seen[v.Pointer()] = true
		walk(v.Elem(), seen)
		guard(v.Interface())
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Struct:
			for i := range v.Len() {
				walk(v.Index(i), seen)
			}
		}
	case reflect.Struct:
		if v.Type().PkgPath() != astPackage {
			return
		}
		for i := range v.NumField() {
			walk(v.Field(i), seen)
		}
	}
}

func guard(node any) {
	switch n := node.(type) {
	case *ast.FunctionLiteral:
		guardParameters(n.ParameterList)
		guardBlock(n.Body)
	case *ast.ArrowFunctionLiteral:
		guardParameters(n.ParameterList)
		switch body := n.Body.(type) {
		case *ast.BlockStatement:
			guardBlock(body)
		case *ast.ExpressionBody:
			body.Expression = guarded(body.Expression)
		}
	case *ast.FieldDefinition:
		n.Initializer = guardedValue(n.Initializer)
	case *ast.ObjectLiteral:
		for _, p := range n.Value {
			if s, ok := p.(*ast.SpreadElement); ok {
				s.Expression = call(wholeGlobal, s.Expression.Idx0(), s.Expression)
			}
		}
	}
}

func guardBlock(b *ast.BlockStatement) {
	if b == nil {
		return
	}
	call := &ast.ExpressionStatement{Expression: guardCall(b.LeftBrace)}
	b.List = append([]ast.Statement{call}, b.List...)
}

// guardParameters guards default values, which run before the body.
func guardParameters(p *ast.ParameterList) {
	if p == nil {
		return
	}
	for _, b := range p.List {
		b.Initializer = guardedValue(b.Initializer)
	}
}

// guardedValue guards a value unless it is a function or a class: those take
// their name from the place where they stand, and do nothing yet.
func guardedValue(e ast.Expression) ast.Expression {
	switch e.(type) {
	case nil, *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return e
	}
	return guarded(e)
}

func guarded(e ast.Expression) ast.Expression {
	return &ast.SequenceExpression{Sequence: []ast.Expression{guardCall(e.Idx0()), e}}
}

func guardCall(at file.Idx) ast.Expression { return call(depthGlobal, at) }

func call(name string, at file.Idx, args ...ast.Expression) ast.Expression {
	return &ast.CallExpression{
		Callee:           &ast.Identifier{Name: unistring.String(name), Idx: at},
		LeftParenthesis:  at,
		ArgumentList:     args,
		RightParenthesis: at,
	}
}
