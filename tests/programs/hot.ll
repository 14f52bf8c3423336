; A target of LLVM's lli: functions that are known to be hot, one after the other. No pointers, so that every
; version of LLVM reads it.

define i64 @hot_first(i64 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i64 [ 1, %entry ], [ %sum, %loop ]
  %product = mul i64 %s, 31
  %added = add i64 %product, %i
  %sum = and i64 %added, 16777215
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %sum
}

define i64 @hot_second(i64 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i64 [ 1, %entry ], [ %sum, %loop ]
  %product = mul i64 %i, 7
  %mixed = xor i64 %s, %product
  %sum = and i64 %mixed, 1048575
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %sum
}

define i32 @main() {
  %first = call i64 @hot_first(i64 250000000)
  %second = call i64 @hot_second(i64 250000000)
  %both = add i64 %first, %second
  %none = icmp eq i64 %both, 0
  %status = zext i1 %none to i32
  ret i32 %status
}
