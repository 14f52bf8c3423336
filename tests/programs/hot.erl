%% A target on Erlang: functions that are known to be hot, and a module that is loaded anew again and again.
%% Requests come as arguments, or a line each on standard input (after "ready PID"):
%%   run MS        runs each hot function for so long; prints "part NAME BEGIN END" for each
%%   reload N MS   loads N versions of module reloaded, one after the other, each with one function of its own
%%                 name (hot0, hot1, ...), and runs it for so long; prints the same
%%   call N        calls counted/1 so often
%% Each ends with "VERB done errors E". Times are CLOCK_MONOTONIC nanoseconds.
-module(hot).
-export([main/1, first/2, second/2, counted/1]).

main([]) ->
    io:format("ready ~s~n", [os:getpid()]),
    serve();
main(Requests) ->
    io:format("ready ~s~n", [os:getpid()]),
    lists:foreach(fun(Request) -> do(string:lexemes(Request, " ")) end, Requests),
    erlang:halt(0).

serve() ->
    case io:get_line("") of
        Line when is_list(Line) -> do(string:lexemes(Line, " \n")), serve();
        _ -> erlang:halt(0)
    end.

do(["run", Ms]) ->
    part("first/2", fun() -> first(100000, 1) end, list_to_integer(Ms)),
    part("second/2", fun() -> second(100000, 1) end, list_to_integer(Ms)),
    io:format("run done errors 0~n");
do(["reload", N, Ms]) ->
    reload(0, list_to_integer(N), list_to_integer(Ms)),
    io:format("reload done errors 0~n");
do(["call", N]) ->
    Sum = call(list_to_integer(N), 0),
    Wanted = list_to_integer(N) * 7,
    io:format("call done errors ~w~n", [case Sum of Wanted -> 0; _ -> 1 end]).

now_ns() -> os:perf_counter(nanosecond).

part(Name, Run, Ms) ->
    Begin = now_ns(),
    part_until(Run, Begin + Ms * 1000000),
    io:format("part ~s ~w ~w~n", [Name, Begin, now_ns()]).

part_until(Run, End) ->
    Run(),
    case now_ns() < End of
        true -> part_until(Run, End);
        false -> ok
    end.

%% Each calls nothing but itself.
first(0, X) -> X;
first(N, X) -> first(N - 1, (X * 31 + N) band 16#ffffff).

second(0, X) -> X;
second(N, X) -> second(N - 1, (X bxor (N * 7)) band 16#fffff).

counted(X) -> X + 7.

call(0, Sum) -> Sum;
call(N, Sum) -> call(N - 1, ?MODULE:counted(Sum)).

reload(I, N, _) when I >= N -> ok;
reload(I, N, Ms) ->
    Name = list_to_atom("hot" ++ integer_to_list(I)),
    {ok, reloaded, Code} = compile:forms(forms(Name)),
    {module, reloaded} = code:load_binary(reloaded, "reloaded.erl", Code),
    part(atom_to_list(Name) ++ "/2", fun() -> reloaded:Name(100000, 1) end, Ms),
    code:delete(reloaded),
    code:purge(reloaded),
    reload(I + 1, N, Ms).

%% Name(0, X) -> X; Name(N, X) -> Name(N - 1, (X * 31 + N) band 16#ffffff).
forms(Name) ->
    X = {var, 1, 'X'}, N = {var, 1, 'N'},
    Int = fun(I) -> {integer, 1, I} end,
    Op = fun(O, A, B) -> {op, 1, O, A, B} end,
    [{attribute, 1, module, reloaded}, {attribute, 1, export, [{Name, 2}]},
     {function, 1, Name, 2,
      [{clause, 1, [Int(0), X], [], [X]},
       {clause, 1, [N, X], [],
        [{call, 1, {atom, 1, Name},
          [Op('-', N, Int(1)), Op('band', Op('+', Op('*', X, Int(31)), N), Int(16#ffffff))]}]}]}].
