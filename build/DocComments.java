import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExportsTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.ToolProvider;

/**
 * Reports what users can see and no comment describes.
 *
 * <p>Javadoc's own check for this cannot be had without a {@code @param} for every parameter and a
 * {@code @return} for every result; {@code docs/decisions/build-tools.md} says why we do not want
 * those.
 */
final class DocComments {
  private final DocTrees trees;
  private final Set<String> missing = new TreeSet<>();
  private int described;

  private DocComments(DocTrees trees) {
    this.trees = trees;
  }

  /** Argument: the folder with a module's sources. */
  public static void main(String[] args) throws IOException {
    Path sources = Path.of(args[0]);
    if (Files.notExists(sources.resolve("module-info.java"))) {
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
      var check = new DocComments(DocTrees.instance(task));
      Set<String> exported = exported(units);
      for (CompilationUnitTree unit : units) {
        if (unit.getPackageName() != null
            && exported.contains(unit.getPackageName().toString())) {
          check.unit(unit);
        }
      }
      if (!check.missing.isEmpty()) {
        check.missing.forEach(System.err::println);
        System.err.println("The declarations above are public and have no comment.");
        System.exit(1);
      }
      if (check.described == 0 && !exported.isEmpty()) {
        System.err.println("Nothing was checked in " + exported);
        System.exit(1);
      }
    }
  }

  private static Set<String> exported(List<CompilationUnitTree> units) {
    Set<String> names = new TreeSet<>();
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
      CompilationUnitTree unit = path.getCompilationUnit();
      long start = trees.getSourcePositions().getStartPosition(unit, path.getLeaf());
      missing.add("%s:%d: %s"
          .formatted(
              unit.getSourceFile().getName(),
              unit.getLineMap().getLineNumber(start),
              name(path.getLeaf())));
    }
  }

  private static String name(Tree tree) {
    if (tree instanceof ClassTree type) {
      return type.getSimpleName().toString();
    } else if (tree instanceof MethodTree method) {
      return method.getName() + "(" + method.getParameters() + ")";
    }
    return tree instanceof VariableTree field ? field.getName().toString() : "the package";
  }
}
