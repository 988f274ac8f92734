import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExportsTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.PackageTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.ToolProvider;

/**
 * Reports where a module's main code departs from a convention that {@code CONTRIBUTING.md} lists:
 *
 * <ul>
 *   <li>what users can see and no comment describes;
 *   <li>every comment, of anything, whose first sentence asks instead of defining: one that begins
 *       with What, Who, How, When or the like, or with Whether before something that is not true or
 *       false;
 *   <li>a logger that is not a {@code private static final} field named {@code log};
 *   <li>a thread that is made without a name;
 *   <li>a {@code ReentrantLock} that is not named {@code mutex}.
 * </ul>
 *
 * <p>Javadoc's own check for this cannot be had without a {@code @param} for every parameter and a
 * {@code @return} for every result; {@code docs/decisions/javadoc.md} says why we do not want
 * those.
 */
final class Conventions {
  private static final Set<String> QUESTIONS =
      Set.of("What", "Who", "Whose", "Which", "How", "When", "Where", "Why");

  /** By what makes threads: the number of arguments from which one can be a name or a factory. */
  private static final Map<String, Integer> NAMED_FROM = Map.of(
      "Thread", 2,
      "ScheduledThreadPoolExecutor", 2,
      "Executors.newFixedThreadPool", 2,
      "Executors.newScheduledThreadPool", 2,
      "Executors.newCachedThreadPool", 1,
      "Executors.newSingleThreadExecutor", 1,
      "Executors.newSingleThreadScheduledExecutor", 1);

  private final DocTrees trees;
  private final Set<String> missing = new TreeSet<>();
  private final Set<String> asking = new TreeSet<>();
  private final Set<String> loggers = new TreeSet<>();
  private final Set<String> nameless = new TreeSet<>();
  private final Set<String> mutexes = new TreeSet<>();
  private int described;

  private Conventions(DocTrees trees) {
    this.trees = trees;
  }

  /** Arguments: the folder with a module's sources; whether the module is not published. */
  public static void main(String[] args) throws IOException {
    Path sources = Path.of(args[0]);
    if (Files.notExists(sources)) {
      return;
    }
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var files = compiler.getStandardFileManager(null, null, null);
        Stream<Path> all = Files.walk(sources)) {
      List<Path> java = all.filter(path -> path.toString().endsWith(".java")).toList();
      var task = (JavacTask) compiler.getTask(
          null, files, null, List.of("-proc:none"), null, files.getJavaFileObjectsFromPaths(java));
      List<CompilationUnitTree> units = new ArrayList<>();
      task.parse().forEach(units::add);
      var check = new Conventions(DocTrees.instance(task));
      Set<String> exported = Boolean.parseBoolean(args[1]) ? Set.of() : exported(units);
      for (CompilationUnitTree unit : units) {
        check.everywhere(unit);
        if (unit.getPackageName() != null
            && exported.contains(unit.getPackageName().toString())) {
          check.unit(unit);
        }
      }
      boolean complaints =
          say(check.asking, "The comments above begin with a question word: define the thing.")
              | say(check.missing, "The declarations above are public and have no comment.")
              | say(check.loggers, "Loggers are private static final fields named log.")
              | say(check.nameless, "The threads made above have no name.")
              | say(check.mutexes, "A ReentrantLock is named mutex.");
      if (complaints) {
        System.exit(1);
      }
      if (check.described == 0 && !exported.isEmpty()) {
        System.err.println("Nothing was checked in " + exported);
        System.exit(1);
      }
    }
  }

  /** Prints these places and that they are wrong; false if there are none. */
  private static boolean say(Set<String> places, String whatIsWrong) {
    places.forEach(System.err::println);
    if (!places.isEmpty()) {
      System.err.println(whatIsWrong);
    }
    return !places.isEmpty();
  }

  /** The packages that the descriptor exports; all, if there is no descriptor. */
  private static Set<String> exported(List<CompilationUnitTree> units) {
    Set<String> names = new TreeSet<>();
    if (units.stream().allMatch(unit -> unit.getModule() == null)) {
      units.forEach(unit -> names.add(unit.getPackageName().toString()));
    }
    units.stream()
        .filter(unit -> unit.getModule() != null)
        .flatMap(unit -> unit.getModule().getDirectives().stream())
        .forEach(directive -> {
          if (directive instanceof ExportsTree exports && exports.getModuleNames() == null) {
            names.add(exports.getPackageName().toString());
          }
        });
    return names;
  }

  private void unit(CompilationUnitTree unit) {
    var path = new TreePath(unit);
    if (unit.getSourceFile().getName().endsWith("package-info.java")) {
      require(new TreePath(path, unit.getPackage()));
    }
    for (Tree type : unit.getTypeDecls()) {
      if (type instanceof ClassTree tree && isVisible(tree.getModifiers())) {
        type(new TreePath(path, tree), tree);
      }
    }
  }

  private void type(TreePath path, ClassTree type) {
    require(path);
    boolean isInterface =
        type.getKind() == Tree.Kind.INTERFACE || type.getKind() == Tree.Kind.ANNOTATION_TYPE;
    for (Tree member : type.getMembers()) {
      var memberPath = new TreePath(path, member);
      if (member instanceof ClassTree nested && (isInterface || isVisible(nested.getModifiers()))) {
        type(memberPath, nested);
      } else if (member instanceof VariableTree field
          && (isInterface || isVisible(field.getModifiers()))) {
        require(memberPath);
      } else if (member instanceof MethodTree method
          && isDescribedHere(type, method)
          && (isInterface || isVisible(method.getModifiers()))) {
        require(memberPath);
      }
    }
  }

  /** Not where an inherited comment holds, or where the components of a record have theirs. */
  private static boolean isDescribedHere(ClassTree type, MethodTree method) {
    boolean isConstructor = method.getReturnType() == null;
    return !(isConstructor && type.getKind() == Tree.Kind.RECORD)
        && !method.getModifiers().getFlags().contains(Modifier.PRIVATE)
        && method.getModifiers().getAnnotations().stream()
            .noneMatch(a -> a.getAnnotationType().toString().equals("Override"));
  }

  private static boolean isVisible(ModifiersTree modifiers) {
    return modifiers.getFlags().contains(Modifier.PUBLIC)
        || modifiers.getFlags().contains(Modifier.PROTECTED);
  }

  private void require(TreePath path) {
    described++;
    if (trees.getDocComment(path) == null) {
      missing.add(place(path));
    }
  }

  /** Looks at what is to be so in all of a file, in private members too. */
  private void everywhere(CompilationUnitTree unit) {
    new TreePathScanner<Void, Void>() {
      @Override
      public Void visitPackage(PackageTree tree, Void unused) {
        firstWord(getCurrentPath(), false);
        return super.visitPackage(tree, unused);
      }

      @Override
      public Void visitClass(ClassTree tree, Void unused) {
        firstWord(getCurrentPath(), false);
        return super.visitClass(tree, unused);
      }

      @Override
      public Void visitMethod(MethodTree tree, Void unused) {
        firstWord(getCurrentPath(), isTrueOrFalse(tree.getReturnType()));
        return super.visitMethod(tree, unused);
      }

      @Override
      public Void visitVariable(VariableTree tree, Void unused) {
        firstWord(getCurrentPath(), isTrueOrFalse(tree.getType()));
        if (isField(getCurrentPath())) {
          if (isOddLogger(tree)) {
            loggers.add(place(getCurrentPath()));
          }
          if (String.valueOf(tree.getType()).equals("ReentrantLock")
              && !tree.getName().contentEquals("mutex")) {
            mutexes.add(place(getCurrentPath()));
          }
        }
        return super.visitVariable(tree, unused);
      }

      @Override
      public Void visitNewClass(NewClassTree tree, Void unused) {
        named(tree.getIdentifier().toString(), tree.getArguments());
        return super.visitNewClass(tree, unused);
      }

      @Override
      public Void visitMethodInvocation(MethodInvocationTree tree, Void unused) {
        named(tree.getMethodSelect().toString(), tree.getArguments());
        return super.visitMethodInvocation(tree, unused);
      }

      private void named(String made, List<?> arguments) {
        if (arguments.size() < NAMED_FROM.getOrDefault(made, 0)) {
          nameless.add(place(getCurrentPath()));
        }
      }
    }.scan(unit, null);
  }

  private static boolean isField(TreePath path) {
    return path.getParentPath().getLeaf() instanceof ClassTree type
        // A logger that passes on to another has it as it likes.
        && !type.getSimpleName().toString().endsWith("Logger");
  }

  private static boolean isOddLogger(VariableTree field) {
    return String.valueOf(field.getType()).matches("(.*\\.)?(Safe)?Logger")
        && !(field.getName().contentEquals("log")
            && field
                .getModifiers()
                .getFlags()
                .equals(Set.of(Modifier.PRIVATE, Modifier.STATIC, Modifier.FINAL)));
  }

  private static boolean isTrueOrFalse(Tree type) {
    return type != null && type.toString().matches(".*\\b[bB]oolean\\b.*");
  }

  private void firstWord(TreePath path, boolean trueOrFalse) {
    String comment = trees.getDocComment(path);
    if (comment != null) {
      String word = comment.strip().split("\\W", 2)[0];
      if (QUESTIONS.contains(word) || (word.equals("Whether") && !trueOrFalse)) {
        asking.add(place(path) + ": " + word + " ...");
      }
    }
  }

  private String place(TreePath path) {
    CompilationUnitTree unit = path.getCompilationUnit();
    long start = trees.getSourcePositions().getStartPosition(unit, path.getLeaf());
    return "%s:%d: %s"
        .formatted(
            unit.getSourceFile().getName(),
            unit.getLineMap().getLineNumber(start),
            name(path.getLeaf()));
  }

  private static String name(Tree tree) {
    if (tree instanceof ClassTree type) {
      return type.getSimpleName().toString();
    } else if (tree instanceof MethodTree method) {
      return method.getName() + "(" + method.getParameters() + ")";
    }
    if (tree instanceof VariableTree field) {
      return field.getName().toString();
    }
    return tree instanceof PackageTree ? "the package" : tree.toString().split("\n", 2)[0];
  }
}
