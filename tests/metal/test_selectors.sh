#!/bin/sh
# What bench/gpu_metal.m says to Metal, and what the double declares, against the reviewed table selectors.tsv: read from
# clang's syntax tree, not from the text. REPO: the source folder; METAL_HOST: another gpu_metal.m (for mutants).
# shellcheck source=tests/metal/support.sh
. "${REPO:?path of the repository}/tests/metal/support.sh"
host=${METAL_HOST:-$REPO/bench/gpu_metal.m}
table() { # KIND...: their lines
    for kind; do grep "^$kind	" "$REPO/tests/metal/selectors.tsv"; done
}

# shellcheck disable=SC2086 # lists of words are meant
"$METAL_CLANG" $FLAGS $OBJC -fsyntax-only -fno-color-diagnostics -Xclang -ast-dump "$host" >"$T/tree" 2>"$T/log" ||
    { fail "clang's syntax tree" "$T/log"; totals; exit 1; }

# ---- what is sent ----

# A message's receiver is its class=, or its first child; an object that is only released is any object.
awk '
    function type_of(line) { sub(/^[^\047]*\047/, "", line); sub(/\047.*/, "", line); return line }
    function owner_of(type) { gsub(/^id<|>$| \*$/, "", type); return type }
    function put(owner) {
        if (selector == "release" && owner != "NSAutoreleasePool") owner = "NSObject"
        print owner "\t" selector "\t" returns
        selector = ""
    }
    selector != "" { put(owner_of(type_of($0))) }
    /ObjCMessageExpr/ {
        returns = type_of($0)
        class = ""
        if (match($0, /class=\047[A-Za-z]*/)) class = substr($0, RSTART + 7, RLENGTH - 7)
        match($0, /selector=[A-Za-z0-9:]*/)
        selector = substr($0, RSTART + 9, RLENGTH - 9)
        if (class != "") put(class)
    }' "$T/tree" | sort -u >"$T/messages"
cut -f 1,2 "$T/messages" | sort -u >"$T/sent"
table method foundation | cut -f 2,3 | sort >"$T/known"
is "the host sends what the table has, and all of it" diff "$T/known" "$T/sent"
is "it sends 20 different messages at least" test "$(wc -l <"$T/sent")" -ge 20
grep '^MTL' "$T/messages" >"$T/metal_messages"
table method | cut -f 2-4 | sort >"$T/known"
is "what they return is what the table says" diff "$T/known" "$T/metal_messages"

# ---- what else of Metal is named ----

refers() { # KIND: names that begin with MTL in references of that kind
    sed -n "s/.*DeclRefExpr.* $1 0x[0-9a-f]* '\(MTL[A-Za-z]*\)'.*/\1/p" "$T/tree" | sort -u
}
refers EnumConstant >"$T/named"
table enum | cut -f 3 | sort >"$T/known"
is "enum values" diff "$T/known" "$T/named"
refers Function >"$T/named"
table function | cut -f 3 | sort >"$T/known"
is "functions" diff "$T/known" "$T/named"
for node in BlockExpr ObjCArrayLiteral ObjCDictionaryLiteral ObjCBoxedExpr ObjCAutoreleasePoolStmt ObjCPropertyRefExpr \
    ObjCForCollectionStmt ObjCAtTryStmt; do
    is "no $node" test "$(grep -c "$node" "$T/tree")" -eq 0
done

# ---- what the double declares ----

awk '
    function type_of(line) { sub(/^[^\047]*\047/, "", line); sub(/\047.*/, "", line); return line }
    function flush() { if (selector != "") print protocol "\t" selector "\t" returns "\t" n "\t" (n ? types : "-"); selector = "" }
    /^\|-/ { flush(); protocol = "" }
    /^\|-ObjCProtocolDecl.* MTL[A-Za-z]*$/ { protocol = $NF }
    protocol != "" && /ObjCMethodDecl/ {
        flush()
        returns = type_of($0)
        selector = $0
        sub(/^.* - /, "", selector)
        sub(/ .*/, "", selector)
        n = 0
        types = ""
    }
    protocol != "" && /ParmVarDecl/ { types = types (n++ ? ", " : "") type_of($0) }
    END { flush() }' "$T/tree" | sed 's/NSError \*[^,]*\*/NSError **/' | sort >"$T/declared"
table method | cut -f 2- | sort >"$T/known"
is "the double declares the table's methods and no other" diff "$T/known" "$T/declared"
table method foundation | awk -F '\t' '{ s = $3; if (gsub(/:/, "", s) != $5) { print; bad = 1 } } END { exit bad }' >"$T/odd"
is "a selector has as many colons as arguments" test ! -s "$T/odd"
{
    printf '#import <Metal/Metal.h>\n'
    table enum | awk -F '\t' '{ printf "_Static_assert((%s)%s == %s, \"%s\");\n", $2, $3, $4, $3 }'
} >"$T/enums.m"
is "values of enums" compile "$T/enums.m" "$T/enums.o"
totals
